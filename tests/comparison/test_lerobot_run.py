from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.golden.runs_0_1 import RUNS
from tests.helpers import GOLDEN
from yardarm.api import evaluate
from yardarm.comparison import EpisodeName, LerobotAssumptions, compare, read_runs
from yardarm.errors import UsageError
from yardarm.tasks.metaworld import MetaworldConfig


def lerobots(path: Path, group: str, successes: list[bool], task_id: int = 0) -> Path:
    """A file as LeRobot writes it."""
    metrics = {"sum_rewards": [0.0] * len(successes), "max_rewards": [0.0] * len(successes), "successes": successes}
    content = {
        "per_task": [{"task_group": group, "task_id": task_id, "metrics": metrics}],
        "per_group": {},
        "overall": {},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_lerobots_own_file_is_paired_with_a_run_of_ours(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "eval_info.json", tmp_path / "eval_info.json")
    ours = evaluate("expert", MetaworldConfig(task="reach-v3"), n_episodes=2, output_dir=tmp_path / "ours")
    comparison = compare(read_runs([ours.path, tmp_path]))
    (pair,) = comparison.pairs
    assert pair.pairs == 2
    assert pair.overall.counts is not None
    assert (pair.overall.counts.only_a, pair.overall.counts.only_b) == (2, 0)
    assert "assumed to be 1000 + the episode's index" in comparison.notes[0]
    assert any("initial states are not recorded" in note for note in pair.notes)


def test_the_seed_of_lerobots_command_can_be_told(tmp_path: Path) -> None:
    path = lerobots(tmp_path / "a" / "eval_info.json", "medium", [True, False], task_id=3)
    other = lerobots(tmp_path / "b" / "eval_info.json", "medium", [True, True], task_id=3)
    run, _ = read_runs([path, other], LerobotAssumptions(seed=7))
    assert list(run.outcomes) == [
        EpisodeName("metaworld/coffee-pull-v3", 0, 7),
        EpisodeName("metaworld/coffee-pull-v3", 1, 8),
    ]


@pytest.mark.parametrize(("batch_size", "pairs"), [(None, 1), (3, 3)])
def test_of_libero_only_the_first_batch_is_paired(batch_size: int | None, pairs: int, tmp_path: Path) -> None:
    paths = [
        lerobots(tmp_path / name / "eval_info.json", "libero_spatial", [True, False, True, False, True], task_id=2)
        for name in "ab"
    ]
    comparison = compare(read_runs(paths, LerobotAssumptions(batch_size=batch_size)))
    (pair,) = comparison.pairs
    assert (pair.pairs, pair.unmatched_a) == (pairs, 5 - pairs)
    assert "only the first batch starts where its seeds say" in " ".join(comparison.notes)
    assert pair.tasks[0].task.startswith("libero/pick_up_the_black_bowl")


def test_a_copy_of_our_own_summary_knows_its_seeds(tmp_path: Path) -> None:
    run = evaluate("expert", MetaworldConfig(task="reach-v3"), n_episodes=2, seed=5, output_dir=tmp_path / "run")
    (tmp_path / "copy").mkdir()
    shutil.copy(run.path / "eval_info.json", tmp_path / "copy" / "eval_info.json")
    original, copy = read_runs([run.path, tmp_path / "copy"])
    assert list(copy.outcomes) == list(original.outcomes)
    assert not copy.notes


@pytest.mark.parametrize("successes", [5, "abc", ["True"], [None], [[True]], [float("nan")], {"0": True}])
def test_odd_successes_are_refused(successes: object, tmp_path: Path) -> None:
    path = lerobots(tmp_path / "a" / "eval_info.json", "easy", [True])
    path.write_text(path.read_text().replace("[true]", json.dumps(successes)))
    with pytest.raises(UsageError, match=r"is not an eval_info\.json"):
        read_runs([path, lerobots(tmp_path / "b" / "eval_info.json", "easy", [True])])


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        ("task_id", float("inf"), r"per_task\[0\]\.task_id must be a whole number, got inf"),
        ("task_id", "0", r"per_task\[0\]\.task_id must be a whole number, got '0'"),
        ("task_group", ["easy"], r"per_task\[0\]\.task_group must be text"),
        ("metrics", {"successes": [True], "seeds": [float("inf")]}, r"metrics\.seeds\[0\] must be a whole number"),
        ("metrics", {"successes": [True], "seeds": []}, r"metrics\.seeds has 0 entries for 1 episodes"),
    ],
)
def test_a_wrong_value_is_told_by_its_place(place: str, value: object, complaint: str, tmp_path: Path) -> None:
    path = lerobots(tmp_path / "a" / "eval_info.json", "easy", [True])
    content = json.loads(path.read_text())
    content["per_task"][0][place] = value
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=rf"is not an eval_info\.json .*{complaint}"):
        read_runs([path, lerobots(tmp_path / "b" / "eval_info.json", "easy", [True])])


def test_a_copy_of_a_run_that_stopped_early_or_is_unfinished_says_so(tmp_path: Path) -> None:
    run = evaluate("expert", MetaworldConfig(task="reach-v3"), n_episodes=2, output_dir=tmp_path / "run")
    content = json.loads((run.path / "eval_info.json").read_text())
    other = lerobots(tmp_path / "other" / "eval_info.json", "reach-v3", [True, True])
    path = tmp_path / "copy" / "eval_info.json"
    path.parent.mkdir()
    overall = {**content["overall"], "planned_episodes": 9}
    path.write_text(json.dumps({**content, "overall": overall}))
    with pytest.raises(UsageError, match=r"is not finished \(2 of 9 episodes\)"):
        read_runs([path, other])
    stopping = json.loads((RUNS / "decided" / "eval_info.json").read_text())["overall"]["stopping"]
    path.write_text(json.dumps({**content, "overall": {**overall, "stopping": stopping}}))
    assert "was stopped early" in read_runs([path, other])[0].notes[0]


@pytest.mark.parametrize("text", ["{", "[]", '{"aggregated": {}}', '{"per_task": []}'])
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "eval_info.json").write_text(text)
    with pytest.raises(UsageError, match=r"eval_info\.json (cannot be read|is not an eval_info|has no episodes)"):
        read_runs([tmp_path, lerobots(tmp_path / "b" / "eval_info.json", "easy", [True])])
