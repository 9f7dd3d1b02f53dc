"""What a user sees of a policy of their own that fails: where in their code, one clear line, and what to do."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers import journal_lines, start_yardarm, wait_until, yardarm

POLICY = """
import ctypes, os, threading, time
import numpy as np
from toy_world import MoverPolicy

class Own(MoverPolicy):
    place = {place!r}
    episodes = 0

    def start(self, episode):
        Own.episodes += 1
        return super().start(episode)

    def infer(self, requests):
        if Own.episodes > 2:
            self.fail()
        return super().infer(requests)

    def fail(self):
        {fault}
"""
TOY = ["--env.type=toy", "--env.task=left", "--eval.n_episodes=4", "--eval.batch_size=1", "--output_dir=run"]


def evaluate(fault: str, *words: str, place: str = "host") -> subprocess.CompletedProcess[str]:
    Path("own.py").write_text(POLICY.format(fault=fault, place=place))
    return yardarm("eval", "--policy.type=own:Own", *TOY, *words)


@pytest.mark.parametrize("place", ["host", "worker"])
def test_a_policy_that_raises_shows_its_own_traceback_and_one_line(place: str) -> None:
    answer = evaluate("raise ValueError('no weights')", place=place)
    assert answer.returncode == 1
    *trace, line = answer.stderr.splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[1].endswith('own.py", line 16, in infer'), "the first frame is the user's"
    assert trace[-1] == "ValueError: no weights"
    assert line == (
        "yardarm: the policy raised ValueError: no weights; run/policy_error.txt has the traceback; "
        "finished episodes are kept"
    )
    assert "no weights" in Path("run/policy_error.txt").read_text()
    assert journal_lines(Path("run")) == 2
    assert evaluate("pass", place=place).returncode == 2, "it is another policy now"


def test_a_policy_that_hangs_is_said_to_and_ends(tmp_path: Path) -> None:
    # A thread of the policy's own, which Python would wait for at its end.
    fault = "thread = threading.Thread(target=time.sleep, args=(3600,)); thread.start(); thread.join()"
    started = time.monotonic()
    answer = evaluate(fault, "--eval.timeout_s=2")
    assert time.monotonic() - started < 60
    assert answer.returncode == 1
    lines = answer.stderr.splitlines()
    assert "has not answered for 1 s; the run gives up after 2 s (--eval.timeout_s)" in lines[0]
    assert "where `infer` hangs (most recent call last):" in lines
    assert "thread.join()" in answer.stderr
    assert "hangs: `infer` has not answered for 2 s" in lines[-1]
    assert lines[-1].endswith("finished episodes are kept")
    assert journal_lines(tmp_path / "run") == 2
    assert json.loads(Path("run/manifest.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("method", ["start", "infer", "finish"])
def test_ctrl_c_ends_a_run_whose_policy_hangs(method: str, tmp_path: Path) -> None:
    Path("own.py").write_text(
        "import time\nfrom pathlib import Path\nfrom toy_world import MoverPolicy\n"
        "class Own(MoverPolicy):\n"
        f"    def {method}(self, *arguments):\n"
        "        Path('hangs').touch()\n"
        "        time.sleep(3600)\n"
    )
    process = start_yardarm("eval", "--policy.type=own:Own", *TOY)
    wait_until(lambda: process.poll() is not None or (tmp_path / "hangs").exists())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "yardarm: stopped; " in said
    assert "Traceback" not in said


def test_a_policy_that_raises_when_it_is_closed_costs_nothing(tmp_path: Path) -> None:
    answer = evaluate("pass\n\n    def close(self):\n        raise ValueError('already closed')")
    assert answer.returncode == 0
    assert answer.stderr == "the policy raised ValueError: already closed (in `close`)\n"
    assert journal_lines(tmp_path / "run") == 4


@pytest.mark.parametrize(
    ("fault", "code"), [pytest.param("os._exit(3)", 3, marks=pytest.mark.slow), ("ctypes.string_at(0)", -11)]
)
def test_a_policy_that_takes_the_process_with_it_costs_no_finished_episode(
    fault: str, code: int, tmp_path: Path
) -> None:
    flag = tmp_path / "mended"
    # Finished episodes are written by a thread, which needs a moment.
    answer = evaluate(f"os.path.exists({str(flag)!r}) or time.sleep(1) or {fault}")
    assert answer.returncode == code
    if code < 0:
        assert "Fatal Python error: Segmentation fault" in answer.stderr
        assert 'own.py", line 20 in fail' in answer.stderr
    assert journal_lines(tmp_path / "run") == 2
    flag.touch()
    again = yardarm("eval", "--policy.type=own:Own", *TOY)
    assert again.returncode == 0, again.stderr
    assert again.stderr.splitlines()[0] == (
        "yardarm: warning: the last session of run was killed or crashed; all 2 finished episodes are kept"
    )
    assert journal_lines(tmp_path / "run") == 4
    assert "crashed" not in yardarm("eval", "--policy.type=own:Own", *TOY).stderr


@pytest.mark.parametrize(("fault", "how"), [("os._exit(3)", "exit code 3"), ("ctypes.string_at(0)", "SIGSEGV")])
def test_a_policy_that_takes_its_worker_with_it_makes_errors_that_say_so(fault: str, how: str, tmp_path: Path) -> None:
    answer = evaluate(fault, "--eval.max_retries=0", place="worker")
    assert answer.returncode == 1
    assert "the first error: worker process" in answer.stderr
    assert f"ended unexpectedly: {how}" in answer.stderr
    assert journal_lines(tmp_path / "run") == 4
