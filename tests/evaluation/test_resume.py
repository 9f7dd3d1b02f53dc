"""Nothing finished is lost: the same command goes on, whatever ended it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers import (
    assert_all_gone,
    courses,
    descendants,
    journal_lines,
    path_with,
    start_yardarm,
    wait_until,
    yardarm,
    yardarm_here,
)
from yardarm.results import read_journal

TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=15", "--env.step_s=0.002"]
SHORT = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=1"]


def undisturbed(folder: Path) -> Path:
    assert yardarm(*TOY, f"--output_dir={folder}").returncode == 0
    return folder


def final_numbers(folder: Path) -> object:
    info = json.loads((folder / "eval_info.json").read_text())
    for name in ("eval_s", "eval_ep_s"):
        info["overall"].pop(name)
    return info


@pytest.mark.timeout(240)
def test_a_run_killed_at_random_moments_ends_with_the_same_numbers(tmp_path: Path) -> None:
    expected = undisturbed(tmp_path / "undisturbed")
    folder = tmp_path / "run"
    moments = random.Random(20261115)
    cut_short = 0
    for moment in [0.0, 0.1, moments.uniform(0.2, 1.0)]:
        process = start_yardarm(*TOY, f"--output_dir={folder}")
        wait_until(lambda: bool(descendants(process.pid)) or process.poll() is not None)  # noqa: B023
        time.sleep(moment)
        cut_short += process.poll() is None
        children = descendants(process.pid)
        process.kill()
        process.communicate()
        assert_all_gone(children)
    assert cut_short >= 2, "the moments were not well chosen"
    finished_before = {record.key for record in read_journal(folder / "episodes.jsonl")}
    last = yardarm(*TOY, f"--output_dir={folder}")
    assert last.returncode == 0, last.stderr
    lines = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    assert len(lines) == 30, "an episode was lost or run twice"
    assert finished_before <= {record.key for record in read_journal(folder / "episodes.jsonl")}
    assert courses(folder) == courses(expected)
    assert final_numbers(folder) == final_numbers(expected)


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_stop_cleanly_and_say_how_to_go_on(stop: signal.Signals, code: int, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [word for word in TOY if "step_s" not in word]
    process = start_yardarm(*words, "--env.step_s=0.02", f"--output_dir={folder}")
    wait_until(lambda: journal_lines(folder) >= 2)
    children = descendants(process.pid)
    assert children
    process.send_signal(stop)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert "are finished and kept; resume with" in errors
    assert f"--output_dir={folder}" in errors
    assert_all_gone(children)
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    assert (folder / "eval_info.json").exists()


def test_more_episodes_add_only_the_missing_ones(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [word for word in TOY if "n_episodes" not in word]
    assert yardarm(*words, "--eval.n_episodes=2", f"--output_dir={folder}").returncode == 0
    first = (folder / "episodes.jsonl").read_bytes()
    more = yardarm(*words, "--eval.n_episodes=5", f"--output_dir={folder}")
    assert more.returncode == 0
    assert "10 episodes, 4 of them already finished" in more.stdout
    assert "10/10 episodes, 10/10 solved" in more.stdout, "progress counts from what is there"
    assert (folder / "episodes.jsonl").read_bytes().startswith(first)
    assert journal_lines(folder) == 10


def test_fewer_episodes_show_fewer_but_keep_all(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [word for word in TOY if "n_episodes" not in word]
    yardarm(*words, "--eval.n_episodes=4", f"--output_dir={folder}")
    less = yardarm(*words, "--eval.n_episodes=2", f"--output_dir={folder}")
    assert less.returncode == 0
    assert json.loads((folder / "eval_info.json").read_text())["overall"]["n_episodes"] == 4
    assert journal_lines(folder) == 8


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("short") / "run"
    assert yardarm(*SHORT, f"--output_dir={folder}").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--policy.type=random", "policy was toy-mover-"),
        ("--env.task=left", "tasks were left/left, right/right, are now left/left"),
        ("--seed=7", "seed was 1000, is now 7"),
        ("--env.max_steps=9", "max_steps was 20, is now 9"),
        ("--policy.chunk=4", "policy was toy-mover-"),
    ],
)
def test_a_changed_plan_is_refused_with_what_differs(change: str, message: str, short_run: Path) -> None:
    name = change.partition("=")[0]
    changed = yardarm_here(
        *[word for word in SHORT if not word.startswith(name + "=")], change, f"--output_dir={short_run}"
    )
    assert changed.returncode == 2
    assert message in changed.stderr
    assert len(changed.stderr.strip().splitlines()) == 1


def test_resume_finds_the_newest_unfinished_run_of_the_same_plan(tmp_path: Path) -> None:
    words = [word for word in TOY if "n_episodes" not in word]
    assert yardarm(*words, "--eval.n_episodes=2").returncode == 0
    assert yardarm(*words, "--eval.n_episodes=2", "--seed=5").returncode == 0
    resumed = yardarm(*words, "--eval.n_episodes=3", "--resume=true")
    assert "6 episodes, 4 of them already finished" in resumed.stdout
    assert len(list(Path("outputs/eval").glob("*/*"))) == 2
    finished = yardarm(*words, "--eval.n_episodes=3", "--resume=true")
    assert "6 episodes, 6 of them already finished" in finished.stdout, "a finished run is shown, not run again"
    assert len(list(Path("outputs/eval").glob("*/*"))) == 2


def test_a_torn_last_line_is_repaired(tmp_path: Path) -> None:
    folder = undisturbed(tmp_path / "run")
    journal = folder / "episodes.jsonl"
    whole = journal.read_bytes()
    expected = courses(folder)
    journal.write_bytes(whole[:-20])
    again = yardarm(*TOY, f"--output_dir={folder}")
    assert "29 of them already finished" in again.stdout
    assert courses(folder) == expected


def test_what_a_killed_session_left_half_done_is_swept(tmp_path: Path) -> None:
    words = [*SHORT, f"--output_dir={tmp_path / 'run'}"]
    assert yardarm_here(*words).returncode == 0
    dead = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    left = tmp_path / "run" / f".report.html.{dead}-7f00.tmp"
    left.write_text("half")
    assert yardarm_here(*words).returncode == 0
    assert left.exists(), "too new to be sure: its writer may live on another machine"
    os.utime(left, (0, 0))
    assert yardarm_here(*words).returncode == 0
    assert not left.exists()


def test_two_processes_do_not_share_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [word for word in TOY if "step_s" not in word]
    first = start_yardarm(*words, "--env.step_s=0.05", f"--output_dir={folder}")
    try:
        wait_until(lambda: journal_lines(folder) >= 1)
        second = yardarm(*words, "--env.step_s=0.05", f"--output_dir={folder}")
        assert second.returncode == 2
        assert "another process is writing to" in second.stderr
    finally:
        first.terminate()
        first.communicate()


def test_a_folder_with_other_results_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "eval_info.json").write_text("{}")
    refused = yardarm(*TOY, f"--output_dir={tmp_path / 'run'}")
    assert refused.returncode == 2
    assert "holds results of something else" in refused.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_stopped_while_the_simulator_is_imported(stop: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "metaworld.py").write_text("import time; time.sleep(600)")
    words = ["eval", "--env.type=metaworld", "--policy.type=expert", f"--output_dir={tmp_path / 'run'}"]
    process = start_yardarm(*words, env={**os.environ, "PYTHONPATH": path_with(tmp_path)})
    wait_until(lambda: bool(descendants(process.pid)))
    children = descendants(process.pid)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors
    assert_all_gone(children)


def test_the_command_to_go_on_is_right_for_flags_with_spaces(tmp_path: Path) -> None:
    words = "eval --env.type toy --policy.type toy-mover --env.step_s 0.05 --eval.n_episodes 9 --output_dir run"
    process = start_yardarm(*words.split())
    wait_until(lambda: journal_lines(tmp_path / "run") >= 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    command = errors.strip().splitlines()[-1].split()
    assert command[:2] == ["yardarm", "eval"]
    assert yardarm(*command[1:]).returncode == 0
    assert journal_lines(tmp_path / "run") == 18


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run" / "episodes.jsonl").mkdir(parents=True)
    refused = yardarm(*TOY, f"--output_dir={tmp_path / 'run'}")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


def test_a_run_ended_by_sigkill_leaves_no_process_and_no_shared_memory(tmp_path: Path) -> None:
    words = [word for word in TOY if "step_s" not in word]
    process: subprocess.Popen[str] = start_yardarm(*words, "--env.step_s=0.05", f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: journal_lines(tmp_path / "run") >= 1)
    children = descendants(process.pid)
    assert len(children) >= 3, "a launcher and its workers"
    shared = {file for pid in (process.pid, *(child.pid for child in children)) for file in shared_files(pid)}
    process.kill()
    process.communicate()
    assert_all_gone(children)
    assert shared
    assert not [file for file in shared if file.exists()]


def shared_files(pid: int) -> set[Path]:
    """What a process writes into and shares with others, by its name, which may be no file's."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {Path(name) for name in re.findall(r" rw-s .* (/\S+)", maps)}
