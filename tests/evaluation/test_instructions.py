"""What policies are told can be chosen: for all tasks, for some, or nothing; the tasks stay the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_world import ToyConfig

from tests.helpers import yardarm_here
from tests.policies.tiny import tiny
from yardarm.api import compare, evaluate
from yardarm.config import FlagText
from yardarm.envs import select_tasks
from yardarm.errors import UsageError
from yardarm.evaluation.plan import Plan
from yardarm.policies import open_policy
from yardarm.results import RunFolder
from yardarm.tasks import BENCHMARKS, TaskSpec, env_from_data
from yardarm.tasks.metaworld import MetaworldConfig

SWAPPED = {"left": "Go right", "right": "Go left"}


def tasks_of(**options: Any) -> tuple[TaskSpec, ...]:
    return select_tasks([ToyConfig(**options)])


def told(**options: Any) -> dict[str, str]:
    return {task.name: task.instruction for task in tasks_of(**options)}


def obeys(observations: Mapping[str, Any]) -> np.ndarray:
    signs = [{"left": -1.0, "right": 1.0}.get(text.rpartition(" ")[2], 0.0) for text in observations["task"]]
    return np.array(signs, np.float32)[:, None]


def run(path: Path, instruction: Any = None, n_episodes: int = 2, **options: Any) -> Any:
    obeys.id = "obeys"  # type: ignore[attr-defined]
    world = ToyConfig(task="left,right", instruction=instruction)
    return evaluate(obeys, world, n_episodes=n_episodes, inputs=["task"], output_dir=path, **options)


def test_a_text_is_for_all_tasks_and_a_mapping_for_some() -> None:
    assert told() == {"left": "Go left", "right": "Go right"}
    assert told(instruction="Wait") == {"left": "Wait", "right": "Wait"}
    assert told(instruction={"left": "Wait"}) == {"left": "Wait", "right": "Go right"}
    assert told(instruction="") == {"left": "", "right": ""}


def test_every_benchmark_has_the_flag() -> None:
    for name in BENCHMARKS.names():
        assert env_from_data({"type": name, "instruction": "Wait"}).instruction == "Wait"
    (task,) = select_tasks([MetaworldConfig(task="reach-v3", instruction="Wait")])
    assert task.instruction == "Wait"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Push: it, {now}", "Push: it, {now}"),
        ("", ""),
        ("null", None),
        ("12", "12"),
        ('{"left": "Go right"}', {"left": "Go right"}),
        ("{left: Go right, right: ''}", {"left": "Go right", "right": ""}),
        ({"left": "Go right"}, {"left": "Go right"}),
    ],
)
def test_flags_and_files_say_a_text_or_a_mapping(text: Any, expected: Any) -> None:
    value = FlagText(text) if isinstance(text, str) else text
    assert env_from_data({"type": "toy", "instruction": value}).instruction == expected


@pytest.mark.parametrize("text", ["{left: Go", "{left: 3}", "{left: [a]}"])
def test_a_mapping_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--env.instruction must be a mapping like"):
        env_from_data({"type": "toy", "instruction": FlagText(text)})


def test_an_unknown_task_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    answer = yardarm_here(
        "eval",
        "--policy.type=zero",
        "--env.type=toy",
        "--env.instruction={lift: Go up}",
        f"--output_dir={tmp_path / 'run'}",
    )
    assert answer.returncode == 2
    assert "--env.instruction: 'lift' is none of the selected tasks; did you mean 'left'? they are left, right" in (
        answer.stderr
    )
    assert not (tmp_path / "run").exists()


def test_the_policy_hears_what_was_chosen_and_runs_pair_by_task_and_seed(tmp_path: Path) -> None:
    right, swapped = run(tmp_path / "right"), run(tmp_path / "swapped", SWAPPED)
    assert (right.counts.successes, swapped.counts.successes) == (4, 0)
    plan = RunFolder(tmp_path / "swapped").read_manifest()
    assert [task.instruction for task in plan.tasks] == ["Go right", "Go left"]
    assert plan.plan.env[0]["instruction"] == SWAPPED
    assert "instruction" not in RunFolder(tmp_path / "right").read_manifest().plan.env[0]
    compared = compare(tmp_path / "right", tmp_path / "swapped")
    (pair,) = compared.pairs
    assert (pair.pairs, pair.unmatched_a, pair.unmatched_b) == (4, 0, 0)
    assert any("instruction: None and {'left': 'Go right'" in note for note in pair.notes)


def test_a_run_is_not_continued_with_other_instructions(tmp_path: Path) -> None:
    run(tmp_path, "Go left")
    with pytest.raises(UsageError, match="holds another run: instruction was Go left, is now None; choose another"):
        run(tmp_path)
    assert run(tmp_path, "Go left", n_episodes=3).counts.episodes == 6


def test_a_plan_without_the_flag_is_named_as_before() -> None:
    plan = Plan("policy", tasks_of(), 2, 1000)
    assert plan.identity().env[0].keys() == {"benchmark", *plan.tasks[0].env.options}
    same = Plan("policy", tasks_of(instruction={"left": "Go left"}), 2, 1000)
    assert same.identity().env[0]["instruction"] == {"left": "Go left"}
    assert [task.key() for task in same.tasks] == [task.key() for task in plan.tasks]


def test_a_task_cannot_be_told_two_things_at_once() -> None:
    worlds = [ToyConfig(task="left", instruction=text) for text in ("Go left", "Wait")]
    with pytest.raises(UsageError, match="'left' of toy is selected twice, with different options"):
        select_tasks(worlds)


def test_nothing_may_be_said_but_not_by_accident() -> None:
    with open_policy(tiny(), tasks_of(instruction="")) as loaded:
        (task, _) = tasks_of(instruction="")
        assert loaded.policy.conditioning(task)  # type: ignore[attr-defined]


def test_an_empty_instruction_in_a_file_of_an_older_version_is_noticed() -> None:
    (note,) = env_from_data({"type": "gym", "task": "CartPole-v1", "instruction": ""}).notes()
    assert "--env.instruction is empty: policies are told nothing" in note
    assert not env_from_data({"type": "gym", "task": "CartPole-v1"}).notes()
