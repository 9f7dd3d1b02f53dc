"""What keeps policies on a node, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toy_world import ToyConfig

from tests.checkpoints import small_act
from yardarm.cluster.custodian import Custodian
from yardarm.cluster.messages import Charge, Question
from yardarm.envs.messages import Answered, Refused
from yardarm.policies import PolicySpec, open_policy

TASKS = ToyConfig(task="left").tasks()
MOVER = PolicySpec("toy_world:MoverPolicy")


def answer_to(charge: Charge) -> Any:
    return Custodian().question(Question(charge, lambda policy: policy.place, {})).result(30)


def test_another_policy_than_the_drivers_is_refused_by_name() -> None:
    with open_policy(MOVER, TASKS) as drivers:
        assert answer_to(Charge(MOVER, drivers.id, TASKS)) == Answered("host")
        match answer_to(Charge(MOVER, "mover-000000", TASKS)):
            case Refused(reason):
                assert "mover-000000" in reason
                assert drivers.id in reason
            case other:
                pytest.fail(f"it was {other}")


def test_a_checkpoint_that_lies_where_another_lay_is_refused(tmp_path: Path) -> None:
    spec = PolicySpec("pretrained", {"path": str(tmp_path / "act"), "device": "cpu"})
    small_act().save_pretrained(tmp_path / "act")
    with open_policy(spec) as drivers:
        charge = Charge(spec, drivers.id, ())
    assert answer_to(charge) == Answered("host")
    changed = small_act()
    next(changed.network.parameters()).data.add_(1.0)
    changed.save_pretrained(tmp_path / "act")
    assert isinstance(answer_to(charge), Refused)
