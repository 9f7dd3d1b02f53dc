"""Creates and removes a world's virtual environment."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from yardarm.envs.trial import open_trial
from yardarm.envs.world_venvs import Benchmark, Receipt, WorldVenv
from yardarm.errors import SetupError, UsageError
from yardarm.files import lock_folder

__all__ = ["remove_world", "set_up_world"]

Say = Callable[[str], None]
# The lines of pip's output that show its progress.
SHOWN = ("Collecting", "Downloading", "Building wheel", "Installing collected")
LINE_WIDTH = 100


def set_up_world(benchmark: Benchmark, say: Say) -> str | None:
    """Create the environment unless it is complete, and test it; return the renderer's name."""
    own = WorldVenv.of(benchmark)
    with _locked(own) as lock:
        if own.fault():
            _make(own, benchmark, lock, say)
    say("testing it")
    with open_trial(benchmark, str(own.python)) as trial:
        return trial.draw()


def remove_world(benchmark: Benchmark) -> WorldVenv:
    """Delete the environment, complete or not."""
    own = WorldVenv.of(benchmark)
    if not own.folder.exists():
        raise UsageError(f"'{benchmark.name}' is not set up: there is no {own.folder}")
    with _locked(own):
        own.receipt.unlink(missing_ok=True)  # first, so that no other process starts to use it
        shutil.rmtree(own.folder)
    return own


@contextlib.contextmanager
def _locked(own: WorldVenv) -> Iterator[int]:
    """Keep other processes away from the folder; yield the lock's descriptor."""
    try:
        own.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(
            f"{own.folder} cannot be created: {error.strerror}; set YARDARM_HOME to another folder"
        ) from error
    if not own.is_own():
        raise UsageError(f"{own.folder} belongs to another user; set YARDARM_HOME to one of your folders")
    lock = lock_folder(own.folder)
    try:
        yield lock
    finally:
        os.close(lock)


def _make(own: WorldVenv, benchmark: Benchmark, lock: int, say: Say) -> None:
    """Build it in place, and write the receipt last. If it fails or is interrupted, nothing is left."""
    _clear(own)
    try:
        say(f"creating an environment in {own.folder}")
        _run([sys.executable, "-m", "venv", str(own.venv)], own, lock)
        say(f"installing {', '.join(own.requirements)}")
        install = [str(own.python), "-I", "-m", "pip", "install", "--no-input", "--progress-bar=off"]
        _run([*install, *own.requirements], own, lock, say)
        with open_trial(benchmark, str(own.python)):
            pass  # raises if it cannot be imported
        Receipt(own.requirements, dt.datetime.now(dt.UTC).isoformat(timespec="seconds")).write(own.receipt)
    except BaseException:
        _clear(own)
        raise


def _clear(own: WorldVenv) -> None:
    own.receipt.unlink(missing_ok=True)
    if own.venv.exists():
        shutil.rmtree(own.venv)


def _run(words: Sequence[str], own: WorldVenv, lock: int, say: Say | None = None) -> None:
    """Run a command, and log its output. It inherits the lock, since it may outlive this process if that is killed."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with (
        own.log.open("a", buffering=1) as log,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=outside,
            pass_fds=[lock],
        ) as process,
    ):
        assert process.stdout is not None
        said = []
        try:
            for line in process.stdout:
                log.write(line)
                said.append(line.strip())
                if say and line.strip().startswith(SHOWN):
                    say(f"  {textwrap.shorten(line, LINE_WIDTH, placeholder=' …')}")
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise SetupError(f"{_complaint(said)}; the full output is in {own.log}")


def _complaint(said: Sequence[str]) -> str:
    """What went wrong, according to a command's output."""
    errors = [line.removeprefix("ERROR:").strip() for line in said if line.startswith("ERROR:")]
    if any("ensurepip" in line for line in said):
        return "this Python cannot create virtual environments (on Debian or Ubuntu: sudo apt-get install python3-venv)"
    return (errors or said or ["no reason given"])[-1]
