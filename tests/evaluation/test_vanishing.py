"""A run whose journal or folder is deleted, moved or replaced meanwhile ends with an error, and loses no result."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_world import ToyConfig

import yardarm
from tests.helpers import courses, journal_lines, start_yardarm, wait_until, yardarm_here
from yardarm.errors import StorageFault
from yardarm.evaluation import EvaluationListener
from yardarm.results import EpisodeRecord, read_journal

TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.batch_size=2", "--eval.n_episodes=15"]
SLOW = "--env.step_s=0.02"


def disturbed(folder: Path, disturb: Callable[[Path], object], *words: str) -> tuple[int, str]:
    """Disturb a run when it has some episodes; returns how it ended and what it said of that."""
    process = start_yardarm(*TOY, SLOW, *words, f"--output_dir={folder}")
    wait_until(lambda: journal_lines(folder) >= 4)
    disturb(folder)
    out, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert "success" not in out, "no table of results"
    return process.returncode, errors


def saved(said: str) -> int:
    """How many finished episodes are said to be safe."""
    (count,) = re.findall(r"its (\d+) finished episodes", said)
    return int(count)


def test_a_deleted_journal_is_noticed_and_saved_under_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code, said = disturbed(folder, lambda run: (run / "episodes.jsonl").unlink())
    recovered = folder / "episodes.recovered.jsonl"
    assert code == 1
    assert said.count("\n") == 1
    assert f"{folder / 'episodes.jsonl'} was deleted while it was being written" in said
    assert f"are saved in {recovered}: rename it to episodes.jsonl" in said
    assert saved(said) == len(list(read_journal(recovered))) >= 5
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    recovered.rename(folder / "episodes.jsonl")
    resumed = yardarm_here(*TOY, SLOW, f"--output_dir={folder}")
    assert f"{saved(said)} of them already finished" in resumed.stdout
    assert journal_lines(folder) == 30


def test_a_replaced_journal_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def replace(run: Path) -> None:
        (run / "other").write_text("mine\n")
        (run / "other").replace(run / "episodes.jsonl")

    code, said = disturbed(folder, replace)
    assert code == 1
    assert f"{folder / 'episodes.jsonl'} was replaced while it was being written" in said
    assert (folder / "episodes.jsonl").read_text() == "mine\n"
    assert saved(said) == len(list(read_journal(folder / "episodes.recovered.jsonl")))


def test_a_deleted_folder_stays_deleted_and_its_results_are_a_run_that_goes_on(tmp_path: Path) -> None:
    code, said = disturbed(tmp_path / "run", shutil.rmtree)
    refuge = tmp_path / "run_recovered"
    assert code == 1
    assert said.count("\n") == 1
    assert f"{tmp_path / 'run'} was deleted while it was being written" in said
    assert f"resume with --output_dir={refuge}" in said
    assert not (tmp_path / "run").exists()
    assert saved(said) == journal_lines(refuge) >= 5
    resumed = yardarm_here(*TOY, SLOW, f"--output_dir={refuge}")
    assert resumed.returncode == 0, resumed.stderr
    assert f"{saved(said)} of them already finished" in resumed.stdout
    whole = tmp_path / "whole"
    assert yardarm_here(*TOY, SLOW, f"--output_dir={whole}").returncode == 0
    assert courses(refuge) == courses(whole)


def test_a_folder_that_was_replaced_by_another_run_is_not_touched(tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert yardarm_here(*TOY[:-1], "--eval.n_episodes=1", f"--output_dir={other}").returncode == 0

    def replace(run: Path) -> None:
        shutil.rmtree(run)
        shutil.copytree(other, run)

    code, said = disturbed(tmp_path / "run", replace)
    assert code == 1
    assert f"{tmp_path / 'run'} was replaced while it was being written" in said
    for name in ("manifest.json", "episodes.jsonl", "eval_info.json", "config.yaml", "report.html"):
        assert (tmp_path / "run" / name).read_bytes() == (other / name).read_bytes()
    assert saved(said) == journal_lines(tmp_path / "run_recovered")


def test_a_moved_folder_has_it_all_and_is_named(tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "moved"
    moved.parent.mkdir()
    code, said = disturbed(tmp_path / "run", lambda run: run.rename(moved))
    assert code == 1
    assert said.count("\n") == 1
    assert f"{tmp_path / 'run'} was moved to {moved} while it was being written; nothing is lost" in said
    assert not (tmp_path / "run").exists()
    assert saved(said) == journal_lines(moved) >= 5
    assert len(list((moved / "actions").rglob("*.npz"))) == journal_lines(moved), "with what was played"
    resumed = yardarm_here(*TOY, SLOW, f"--output_dir={moved}")
    assert resumed.returncode == 0, resumed.stderr
    assert journal_lines(moved) == 30


class AtTheEnd(EvaluationListener):
    """Does something when the last episode is on disk."""

    def __init__(self, planned: int, what: Callable[[], object]) -> None:
        self._left = planned
        self._what = what

    def finished(self, record: EpisodeRecord) -> None:
        self._left -= 1
        if not self._left:
            self._what()


def test_what_happens_after_the_last_episode_is_noticed_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    listener = AtTheEnd(4, lambda: shutil.rmtree(folder))
    with pytest.raises(StorageFault, match=r"was deleted while .* its 4 finished episodes"):
        yardarm.evaluate("toy-mover", ToyConfig(), n_episodes=2, output_dir=folder, batch_size=2, listener=listener)
    assert not folder.exists()
    assert journal_lines(tmp_path / "run_recovered") == 4


def test_of_several_policies_those_whose_folder_is_there_are_finished(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    policies = ["toy-mover", "toy_world:SlowlyPolicy"]
    first = yardarm.evaluate_several(policies, ToyConfig(), n_episodes=1, output_dir=folder, batch_size=2)
    lost, kept = (run.path for run in first.runs.values())
    listener = AtTheEnd(4, lambda: shutil.rmtree(lost))
    with pytest.raises(StorageFault, match=f"{lost} was deleted"):
        yardarm.evaluate_several(
            policies, ToyConfig(), n_episodes=2, output_dir=folder, batch_size=2, listener=listener
        )
    assert json.loads((kept / "manifest.json").read_text())["status"] == "finished"
    assert journal_lines(lost.with_name(f"{lost.name}_recovered")) == 4
