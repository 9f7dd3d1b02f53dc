"""Small tools of the tests."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

from yardarm.cli import main
from yardarm.results import EpisodeRecord, RunResult, read_journal

GOLDEN = Path(__file__).parent / "golden"


def yardarm(*words: object, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "yardarm", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )


def yardarm_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which saves a second: for what is answered before anything starts."""
    out, err = io.StringIO(), io.StringIO()
    path, finders, at_sigterm = sys.path[:], sys.meta_path[:], signal.getsignal(signal.SIGTERM)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(word) for word in words])
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
        signal.signal(signal.SIGTERM, at_sigterm)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def path_with(folder: Path) -> str:
    """A PYTHONPATH on which a folder's modules come first, and all that was there is found still."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def start_yardarm(*words: object, **options: Any) -> subprocess.Popen[str]:
    """Start the command line and leave it running."""
    return subprocess.Popen(
        [sys.executable, "-m", "yardarm", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def courses(run: RunResult | Path) -> dict[Any, Any]:
    """What happened in each episode of a run, without what it cost."""
    records: Iterable[EpisodeRecord] = read_journal(run / "episodes.jsonl") if isinstance(run, Path) else run.episodes
    return {record.key: record.course() for record in records}


def wait_until(condition: Callable[[], bool], timeout: float = 60) -> None:
    """Poll until something holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def descendants(pid: int) -> list[psutil.Process]:
    """All processes that a process started, and theirs."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def launchers() -> list[psutil.Process]:
    """The processes that start workers for this one, which has other children too if tests before used some."""
    return [child for child in psutil.Process().children() if "yardarm.envs.launcher" in _command(child)]


def workers() -> list[psutil.Process]:
    """What the launchers have started."""
    return [worker for launcher in launchers() for worker in launcher.children()]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def assert_all_gone(processes: Iterable[psutil.Process], timeout: float = 15) -> None:
    """Hold until none of the processes runs."""
    _, alive = psutil.wait_procs(list(processes), timeout=timeout)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def journal_lines(folder: Path) -> int:
    """How many episodes have been written down."""
    journal = folder / "episodes.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0
