"""Actions that an environment cannot have been meant to get are told of at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from metaworld.policies import ENV_POLICY_MAP

from tests.helpers import yardarm
from yardarm.api import evaluate
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.results import RunResult
from yardarm.tasks.metaworld import MetaworldConfig


class Playing:
    """Plays what a function of the episode's generator says; Meta-World has four axes, the gripper last."""

    wants = ObservationSpec(inputs=("observation.state",))
    place = "host"
    id = "playing"

    def __init__(self, **axes: Any) -> None:
        self.axes = axes

    def start(self, episode: Any) -> np.random.Generator:
        return np.random.default_rng(episode.seed)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [ActionChunk(self._actions(request.state)) for request in requests]

    def _actions(self, rng: np.random.Generator) -> np.ndarray:
        actions = rng.uniform(-1, 1, (50, 4))
        for axis, (low, high) in self.axes.items():
            actions[:, int(axis[1:])] = rng.uniform(low, high, 50)
        return actions


def warnings_of(tmp_path: Path, task: str = "push-v3", **axes: Any) -> tuple[str, ...]:
    return play(tmp_path, task, Playing(**axes)).warnings


def play(tmp_path: Path, task: str, policy: Any) -> RunResult:
    env = MetaworldConfig(task=task, episode_length=150)
    return evaluate(policy, env, n_episodes=2, batch_size=2, output_dir=tmp_path / "run")


ARM = ("_0", "_1", "_2")
PICKING = "push-v3,pick-place-v3,assembly-v3"


@pytest.mark.parametrize(
    ("task", "axes", "warning"),
    [
        (
            "push-v3",
            {"_3": (3, 4)},
            "every action was out of bounds on axis 3: 3 to 4, where the environment takes -1 to 1: is the gripper",
        ),
        ("push-v3", dict.fromkeys(ARM, (-57, 57)), "of the actions were out of bounds on axis 0"),
        ("push-v3", {"_1": (0.5, 0.5)}, "axis 1 was 0.5 in every action: are the units and the order of axes right?"),
        ("push-v3", dict.fromkeys((*ARM, "_3"), (0.1, 0.1)), "every action was the same, [0.1, 0.1, 0.1, 0.1]"),
        ("push-v3", dict.fromkeys((*ARM, "_3"), (-1e-4, 1e-4)), "the robot hardly moved in any episode"),
        ("push-v3", dict.fromkeys(ARM, (-0.017, 0.017)), "hardly moved in any episode (no action is beyond 1.7% of"),
        (PICKING, {"_3": (0, 1)}, "axis 3 stayed on one side of zero"),
        pytest.param(
            *(PICKING, {"_3": (0, 0)}, "axis 3 was 0 in every action: is the gripper convention right?"),
            marks=pytest.mark.slow,
        ),
        pytest.param(PICKING, {"_2": (0.1, 0.4)}, "axis 2 stayed on one side of zero", marks=pytest.mark.slow),
    ],
)
def test_what_is_odd_is_told(task: str, axes: dict[str, Any], warning: str, tmp_path: Path) -> None:
    (told,) = [text for text in warnings_of(tmp_path, task, **axes) if warning in text]
    assert told in json.loads((tmp_path / "run" / "manifest.json").read_text())["warnings"]


def test_an_axis_that_never_changes_within_a_task_is_told_of(tmp_path: Path) -> None:
    """As if the order of axes were another: what should move the gripper moves the arm."""

    class GripperFirst(Playing):
        def start(self, episode: Any) -> Any:
            return np.random.default_rng(episode.seed), (len(episode.task.name) - 10) / 20

        def _actions(self, state: Any) -> np.ndarray:
            actions = super()._actions(state[0])
            actions[:, 0] = state[1]
            return actions

    warnings = play(tmp_path, PICKING, GripperFirst()).warnings
    assert warnings == ("axis 0 never changed in 3 of 3 tasks: are the units and the order of axes right?",)


@pytest.mark.parametrize(
    ("task", "axes"),
    [
        pytest.param("push-v3", {}, id="ordinary"),
        pytest.param("push-v3", {"_0": (-3, 3)}, id="more than it gets", marks=pytest.mark.slow),
        pytest.param("push-v3", {"_3": (0, 1)}, id="a gripper that one task needs on one side", marks=pytest.mark.slow),
        pytest.param("push-v3", {"_1": (0.1, 0.9)}, id="an arm that pushes one way"),
        pytest.param("push-v3", {"_3": (0, 0)}, id="a gripper that is not needed"),
        pytest.param(PICKING, {"_3": (-1, -1)}, id="a gripper that stays open", marks=pytest.mark.slow),
        pytest.param(PICKING, {"_3": (-1, -0.8)}, id="a gripper that stays open, roughly"),
    ],
)
def test_what_policies_do_that_are_well_is_not_remarked_on(task: str, axes: dict[str, Any], tmp_path: Path) -> None:
    result = play(tmp_path, task, Playing(**axes))
    assert result.counts.successes == 0
    assert result.warnings == ()


def test_a_scripted_policy_is_meant_as_it_is(tmp_path: Path) -> None:
    assert play(tmp_path, "push-v3", "zero").warnings == ()


def test_a_policy_that_solves_its_task_is_not_remarked_on(tmp_path: Path) -> None:
    class Expert(Playing):
        """Asks for sixty times more than it gets, and holds the gripper still."""

        wants = ObservationSpec(inputs=("observation.environment_state",))

        def start(self, episode: Any) -> Any:
            return ENV_POLICY_MAP[episode.task.name]()

        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            seen = [request.observation["observation.environment_state"] for request in requests]
            actions = [request.state.get_action(own) for request, own in zip(requests, seen, strict=True)]
            return [ActionChunk(60 * action[None] * [1, 1, 1, 0]) for action in actions]

    result = play(tmp_path, "button-press-topdown-v3", Expert())
    assert result.counts.successes > 0
    assert result.warnings == ()


def test_the_command_line_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.py").write_text(
        "import numpy as np\n"
        "from yardarm.policies import ActionChunk, ObservationSpec\n"
        "class Odd:\n"
        "    wants, place = ObservationSpec(('observation.state',)), 'host'\n"
        "    def start(self, episode): pass\n"
        "    def infer(self, requests): return [ActionChunk(np.full((20, 1), 7.0)) for _ in requests]\n"
    )
    answer = yardarm("eval", "--policy.type=odd:Odd", "--env.type=toy", "--env.task=left", "--eval.n_episodes=6")
    assert answer.returncode == 0
    assert "yardarm: warning: every action was out of bounds on axis 0: 7 to 7" in answer.stderr
