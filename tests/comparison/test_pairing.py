from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.comparison.runs import made_up, written
from yardarm.api import evaluate
from yardarm.comparison import compare, read_runs
from yardarm.comparison.pairing import find_pairs
from yardarm.errors import UsageError
from yardarm.files import write_json
from yardarm.results import RunFolder, read_journal
from yardarm.tasks.metaworld import MetaworldConfig

A = [True, True, False, True, False, True]
B = [False, True, False, False, False, True]


def test_episodes_are_paired_by_task_index_and_seed() -> None:
    pairing = find_pairs(made_up("a", A), made_up("b", B[:4]))
    assert [(pair.name.index, pair.a, pair.b) for pair in pairing.pairs[:2]] == [(0, True, False), (1, True, True)]
    assert (pairing.unmatched_a, pairing.unmatched_b) == (2, 0)
    assert not find_pairs(made_up("a", A), made_up("b", B, first_seed=2000)).pairs


@pytest.mark.parametrize(("shift", "pairs"), [(0.0, 6), (1e-9, 6), (1e-6, 6), (1e-2, 0)])
def test_beginnings_may_differ_by_rounding_only(shift: float, pairs: int, tmp_path: Path) -> None:
    runs = read_runs([written(tmp_path / "a", A), written(tmp_path / "b", B, shift)])
    assert len(find_pairs(*runs).pairs) == pairs


def test_other_beginnings_are_told_of_and_compared_unpaired(tmp_path: Path) -> None:
    runs = read_runs([written(tmp_path / "a", A), written(tmp_path / "b", B, 1e-2)])
    (pair,) = compare(runs).pairs
    assert pair.method == "boschloo"
    assert "6 episodes have the same seed but start in different states" in " ".join(pair.notes)


def test_damaged_actions_make_no_pair(tmp_path: Path) -> None:
    paths = [written(tmp_path / "a", A), written(tmp_path / "b", B, 1e-9)]
    next((tmp_path / "b").rglob("00002.npz")).write_bytes(b"not an archive")
    pairing = find_pairs(*read_runs(paths))
    assert [pair.name.index for pair in pairing.pairs] == [0, 1, 3, 4, 5]


def test_runs_of_different_image_sizes_are_the_same_world(tmp_path: Path) -> None:
    paths = []
    for policy, size in (("expert", 480), ("zero", 84)):
        config = MetaworldConfig(task="reach-v3", observation_height=size, observation_width=size, episode_length=60)
        paths.append(evaluate(policy, config, n_episodes=3, output_dir=tmp_path / policy).path)
    (pair,) = compare(read_runs(paths)).pairs
    assert pair.pairs == 3
    assert "height: 480 and 84" in " ".join(pair.notes)


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    paths = [written(tmp_path / "a", A), written(tmp_path / "b", B, n_episodes=50, status="interrupted")]
    with pytest.raises(UsageError, match=r"b is not finished \(6 of 50 episodes\), and quick episodes"):
        read_runs(paths)
    _, second = read_runs(paths, allow_unfinished=True)
    assert "is not finished" in second.notes[0]


def test_of_a_run_that_stopped_early_only_what_was_judged_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "a", A)
    folder = RunFolder(path)
    records = [dataclasses.replace(record, place=5 - record.key.index) for record in read_journal(folder.journal)]
    folder.journal.write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    stopping = {"rule": "decided", "n_episodes": 6, "confidence": 0.95, "players": 2, "maximum": 6, "released": 4}
    stopping |= {"decision": "a", "dropped": {}, "a": "a", "b": "b", "pairs": 4, "both": 0, "only_a": 4, "only_b": 0}
    stopping |= {"difference": 1.0, "difference_interval": [0.1, 1.0]}
    write_json(folder.manifest, {**folder.read_manifest().to_json(), "stopping": stopping})
    (run, _) = read_runs([path, written(tmp_path / "b", B)])
    assert sorted(name.index for name in run.outcomes) == [2, 3, 4, 5]
    assert "was stopped early" in run.notes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": None},
        {"n_episodes": "many"},
        {"tasks": [{"name": "x"}]},
        {"stopping": []},
        {"stopping": {"rule": "x"}},
    ],
)
def test_a_manifest_that_makes_no_sense_is_named(change: dict, tmp_path: Path) -> None:
    paths = [written(tmp_path / "a", A), written(tmp_path / "b", B, **change)]
    with pytest.raises(UsageError, match=r"b.manifest\.json is damaged"):
        read_runs(paths)


@pytest.mark.parametrize("change", [{"index": "0"}, {"status": "fine"}, {"fingerprints": []}])
def test_a_journal_that_makes_no_sense_is_named(change: dict, tmp_path: Path) -> None:
    path = written(tmp_path / "a", A)
    lines = (path / "episodes.jsonl").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (path / "episodes.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=r"episodes\.jsonl is damaged at line 2"):
        read_runs([path, written(tmp_path / "b", B)])


def test_the_same_run_by_another_name_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / "a", A)
    (tmp_path / "link").symlink_to(path)
    for other in (tmp_path / "link", path / "eval_info.json", path / ".." / "a"):
        with pytest.raises(UsageError, match="given twice"):
            read_runs([path, other])


@pytest.mark.parametrize("twice", [True, False])
def test_mistakes_are_told_in_one_line(twice: bool, tmp_path: Path) -> None:
    path = written(tmp_path / "a", A)
    with pytest.raises(UsageError, match="given twice" if twice else "there is no run"):
        read_runs([path, path if twice else tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="neither a manifest"):
        read_runs([path, tmp_path / "empty"])
