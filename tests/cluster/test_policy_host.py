"""What hosts policies on a node, without a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.checkpoints import small_act
from yardarm.cluster.connection import load_ray
from yardarm.cluster.messages import ActionRequest, HostedPolicy, PolicyAnswer, PolicyCall
from yardarm.cluster.policy_host import PolicyHost
from yardarm.envs.messages import Answered, Refused
from yardarm.errors import PolicyFault
from yardarm.policies import Look, PolicySpec, open_policy
from yardarm.tasks import EpisodeSpec

TASKS = ToyConfig(task="left").tasks()
MOVER = PolicySpec("toy_world:MoverPolicy")


def answer_to(hosted: HostedPolicy) -> Any:
    return PolicyHost().call(PolicyCall(hosted, lambda loaded: loaded.policy.place, {})).result(30)


def test_another_policy_than_the_drivers_is_refused_by_name() -> None:
    with open_policy(MOVER, TASKS) as drivers:
        assert answer_to(HostedPolicy(MOVER, drivers.id, TASKS)) == Answered("host")
        match answer_to(HostedPolicy(MOVER, "mover-000000", TASKS)):
            case Refused(reason):
                assert "mover-000000" in reason
                assert drivers.id in reason
            case other:
                pytest.fail(f"it was {other}")


def test_a_checkpoint_that_lies_where_another_lay_is_refused(tmp_path: Path) -> None:
    spec = PolicySpec("pretrained", {"path": str(tmp_path / "act"), "device": "cpu"})
    small_act().save_pretrained(tmp_path / "act")
    with open_policy(spec) as drivers:
        hosted = HostedPolicy(spec, drivers.id, ())
    assert answer_to(hosted) == Answered("host")
    changed = small_act()
    next(changed.network.parameters()).data.add_(1.0)
    changed.save_pretrained(tmp_path / "act")
    assert isinstance(answer_to(hosted), Refused)


class LeavingPolicy(MoverPolicy):
    """Ends its process, or tries to."""

    id = "toy"

    def __init__(self, at: str) -> None:
        super().__init__()
        self._at = at
        self._leave("__init__")

    def start(self, episode: EpisodeSpec) -> Any:
        self._leave("start")
        return super().start(episode)

    def finish(self, state: Any, outcome: Any) -> None:
        self._leave("finish")

    def _leave(self, here: str) -> None:
        if here == self._at:
            sys.exit(here)


def first_request(host: PolicyHost, spec: PolicySpec) -> PolicyAnswer:
    """Begin an episode."""
    hosted = HostedPolicy(spec, "toy", TASKS)
    look = Look(0, {"observation.state": np.zeros(2)})
    request = ActionRequest("first", hosted.key, [look], EpisodeSpec(TASKS[0], 0, 1000), hosted)
    (answer,) = host.infer([request]).result(30)
    return answer


@pytest.mark.parametrize("place", ["__init__", "start", "finish"])
def test_a_policy_that_calls_exit_ends_nobody(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_ray(), "get", lambda hosted: hosted)
    host = PolicyHost()
    answer = first_request(host, PolicySpec(f"{__name__}:LeavingPolicy", {"at": place}))
    if place == "finish":
        with pytest.raises(PolicyFault, match="SystemExit"):
            host.finish("first", None).result(30)
    else:
        assert "SystemExit" in answer.fault + answer.cannot_make
    assert first_request(host, PolicySpec(f"{__name__}:LeavingPolicy", {"at": "nowhere"})).play is not None


class WeightyPolicy(MoverPolicy):
    """Says when it lets go of its weights."""

    id = "toy"
    weight_bytes = free_bytes = 1
    released = 0

    def release(self) -> None:
        type(self).released += 1


def test_more_policies_than_are_held_at_once_let_go_of_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_ray(), "get", lambda hosted: hosted)
    monkeypatch.setattr(WeightyPolicy, "released", 0)
    host = PolicyHost(most_held=1)
    for chunk, released in ((1, 0), (2, 1)):
        first_request(host, PolicySpec(f"{__name__}:WeightyPolicy", {"chunk": chunk}))
        host.finish("first", None).result(30)
        assert WeightyPolicy.released == released
