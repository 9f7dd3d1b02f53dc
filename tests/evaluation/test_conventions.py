"""Actions that an environment cannot have been meant to get are told of at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("axes", "warning"),
    [
        (
            {"_3": (3, 4)},
            "every action was clipped on axis 3: 3 to 4, where the environment takes -1 to 1: is the gripper",
        ),
        ({"_0": (-3, 3)}, "of the actions were clipped on axis 0"),
        ({"_3": (0, 1)}, "axis 3 stayed on one side of zero"),
        ({"_1": (0.5, 0.5)}, "axis 1 was 0.5 in every action: are the units and the order of axes right?"),
        ({f"_{axis}": (0.1, 0.1) for axis in range(4)}, "every action was the same, [0.1, 0.1, 0.1, 0.1]"),
        ({f"_{axis}": (-1e-4, 1e-4) for axis in range(4)}, "the robot hardly moved in any episode"),
    ],
)
def test_what_is_odd_is_told(axes: dict[str, Any], warning: str, tmp_path: Path) -> None:
    (told,) = [text for text in warnings_of(tmp_path, **axes) if warning in text]
    assert told in json.loads((tmp_path / "run" / "manifest.json").read_text())["warnings"]


def test_ordinary_actions_are_not_remarked_on(tmp_path: Path) -> None:
    assert warnings_of(tmp_path) == ()
    assert play(tmp_path / "zero", "push-v3", "zero").warnings == (), "a scripted policy is meant as it is"


def test_a_policy_that_solves_its_task_may_hold_an_axis_still(tmp_path: Path) -> None:
    class Closing(Playing):
        def _actions(self, rng: np.random.Generator) -> np.ndarray:
            return np.tile([0.0, -1.0, -0.3, 0.5], (50, 1)) + rng.normal(scale=[0.01, 0.01, 0.01, 0], size=(50, 4))

    run = play(tmp_path, "reach-v3", Closing())
    held = [text for text in run.warnings if "axis 3 was 0.5" in text]
    assert bool(held) == (run.counts.successes == 0)


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
    assert "yardarm: warning: every action was clipped on axis 0: 7 to 7" in answer.stderr
