"""What an agent does with its orders, without a cluster."""

from __future__ import annotations

import contextlib
from pathlib import Path

from yardarm.cluster.messages import Dismiss
from yardarm.cluster.policy_host import PolicyHost
from yardarm.cluster.relay import Relay
from yardarm.envs import ProcessPool


def test_batches_that_come_out_of_turn_are_carried_out_in_turn(tmp_path: Path) -> None:
    with contextlib.closing(ProcessPool(1, time_limit_s=30.0, log=tmp_path / "log")) as pool:
        relay = Relay(pool, PolicyHost())
        for number in (2, 0, 3, 1):
            relay.take(number, [Dismiss(number)])
        assert relay._inbox.take_all() == [Dismiss(number) for number in range(4)]
