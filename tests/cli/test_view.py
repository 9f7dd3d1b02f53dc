"""``yardarm eval --view``: the page of a run that goes on, and what becomes of it afterwards."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers import assert_all_gone, descendants, journal_lines, start_yardarm, wait_until, yardarm
from tests.viewer.served import ask

TOY = ("--policy.type=toy-mover", "--env.type=toy", "--env.task=left", "--eval.batch_size=1")


def test_the_page_shows_the_run_while_it_goes_on(tmp_path: Path) -> None:
    words = [*TOY, "--env.max_steps=20", "--env.step_s=0.05", "--eval.n_episodes=30", "--view"]
    process = start_yardarm("eval", *words, f"--output_dir={tmp_path / 'run'}", env={**os.environ, "BROWSER": "true"})
    try:
        assert process.stdout is not None
        address = next(line for line in process.stdout if " at http" in line).split(" at ")[1].split()[0]
        assert address.endswith("/run?run=.")
        base = address.removesuffix("/run?run=.")
        first = ask(base, "/api/run", run=".")[1]["run"]
        assert first["status"] == "running"
        done = first["overall"]["episodes"]
        wait_until(lambda: ask(base, "/api/run", run=".")[1]["run"]["overall"]["episodes"] > done)
        children = descendants(process.pid)
    finally:
        process.kill()
        process.communicate()
    assert_all_gone(children)  # also when the evaluation is killed


def test_where_nobody_watches_the_page_ends_with_the_run(tmp_path: Path) -> None:
    words = [*TOY, "--eval.n_episodes=2", f"--output_dir={tmp_path / 'run'}", "--view"]
    result = yardarm("eval", *words, BROWSER="true")
    assert result.returncode == 0
    assert (tmp_path / "run" / "report.html").exists()


def test_on_a_terminal_the_page_stays_until_ctrl_c(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [*TOY, "--eval.n_episodes=2", f"--output_dir={tmp_path / 'run'}", "--view"]
    process = subprocess.Popen(
        [sys.executable, "-m", "yardarm", "eval", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "BROWSER": "true"},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"runs until" not in shown:
        shown += os.read(ours, 65536)
    assert journal_lines(tmp_path / "run") == 2
    time.sleep(0.2)
    assert process.poll() is None
    children = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    os.close(ours)
    assert_all_gone(children)
