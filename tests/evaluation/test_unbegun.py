"""A run that never began leaves no folder: whatever went wrong, and however it was stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.helpers import journal_lines, path_with, start_yardarm, wait_until, yardarm
from yardarm.results import read_labels

TOY = ["--env.type=toy", "--env.task=left", "--eval.n_episodes=2", "--eval.batch_size=1"]
POLICY = """
import time
from pathlib import Path
from toy_world import MoverPolicy

class Own(MoverPolicy):
    def infer(self, requests):
        {fault}

class Other(Own):
    pass
"""


def own_policy(fault: str) -> None:
    Path("own.py").write_text(POLICY.format(fault=fault))


def test_a_policy_that_fails_on_its_first_look_leaves_no_folder() -> None:
    own_policy("raise ValueError('no weights')")
    answer = yardarm("eval", "--policy.type=own:Own", *TOY)
    assert answer.returncode == 1
    *trace, line = answer.stderr.splitlines()
    assert trace[-1] == "ValueError: no weights"
    assert line == "yardarm: the policy raised ValueError: no weights"
    assert not Path("outputs").exists()


def test_what_was_in_the_folder_before_stays() -> None:
    own_policy("raise ValueError('no weights')")
    Path("run").mkdir()
    Path("run/config.yaml").write_text("seed: 3\n")
    Path("run/notes.txt").write_text("mine")
    assert yardarm("eval", "--policy.type=own:Own", *TOY, "--output_dir=run").returncode == 1
    assert sorted(path.name for path in Path("run").iterdir()) == ["config.yaml", "notes.txt"]


def test_an_opponent_that_fails_takes_both_folders_with_it() -> None:
    own_policy("raise ValueError('no weights')")
    words = ["--policy.type=own:Own", "--against=own:Other", "--output_dir=deep/run", "--job_name=duel"]
    answer = yardarm("eval", *words, *TOY)
    assert answer.returncode == 1, answer.stderr
    assert not Path("deep").exists()


@pytest.mark.parametrize("policy", [["--policy.type=own:Own"], ["--config_path=both.yaml"]], ids=["one", "several"])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_before_its_first_episode_ends_leaves_no_folder(
    policy: list[str], stop: signal.Signals, tmp_path: Path
) -> None:
    own_policy("Path('looked').touch(); time.sleep(3600)")
    Path("both.yaml").write_text("policy: [{type: 'own:Own'}, {type: 'own:Other'}]\n")
    found = {**os.environ, "PYTHONPATH": path_with(tmp_path)}
    process = start_yardarm("eval", *policy, *TOY, "--trust_remote_code=true", "--output_dir=run", env=found)
    wait_until(lambda: process.poll() is not None or (tmp_path / "looked").exists())
    assert process.poll() is None, process.communicate()
    process.send_signal(stop)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + stop, said
    assert "no episode was finished, so nothing is kept" in said
    assert not (tmp_path / "run").exists()


def test_an_episode_that_was_finished_keeps_the_folder_and_its_name(tmp_path: Path) -> None:
    own_policy(
        "if Path('one').exists(): raise ValueError\n        Path('one').touch()\n        return super().infer(requests)"
    )
    answer = yardarm(
        "eval", "--policy.type=own:Own", "--policy.chunk=20", *TOY, "--output_dir=run", "--job_name=first try"
    )
    assert answer.returncode == 1
    assert "run/policy_error.txt has the traceback; finished episodes are kept" in answer.stderr
    assert journal_lines(tmp_path / "run") == 1
    assert read_labels(tmp_path / "run").name == "first try"
    Path("run/labels.json").unlink()
    again = yardarm("eval", "--policy.type=own:Own", "--policy.chunk=20", *TOY, "--output_dir=run")
    assert again.returncode == 1
    assert journal_lines(tmp_path / "run") == 1, "an earlier session's episodes stay"


def test_a_refused_shard_leaves_no_folder() -> None:
    mover = ["--policy.type=toy-mover", *TOY, "--output_dir=run"]
    assert yardarm("eval", *mover).returncode == 0
    refused = yardarm("eval", *mover, "--shard=1/2", "--seed=5")
    assert refused.returncode == 2
    assert "holds another run" in refused.stderr
    assert not Path("run/shard_1_of_2").exists()
