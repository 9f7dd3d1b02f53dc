"""Other Python interpreters, for simulators that cannot be installed together with the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from yardarm.envs.world_venvs import data_folder
from yardarm.errors import SetupError, UsageError

__all__ = ["check_interpreter", "paths_for"]

OLDEST = (3, 11)
# Without the current folder, which `-c` puts first: a numpy.py in it must not be imported.
CHECK = "import sys; sys.path[:] = filter(None, sys.path); import numpy; print(*sys.version_info[:2])"


def check_interpreter(python: str) -> None:
    """Raise if a path is not a Python that can run workers, which need numpy but not Yardarm."""
    try:
        answer = subprocess.run([python, "-c", CHECK], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{_called(python)} cannot be run: {getattr(error, 'strerror', None) or error}") from error
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SetupError(f"{_called(python)} cannot run workers: {reason}; it needs numpy and the simulator")
    try:
        version = tuple(map(int, answer.stdout.split()))
    except ValueError:
        version = ()
    if len(version) != 2:
        raise UsageError(f"{_called(python)} is not a Python interpreter")
    if version < OLDEST:
        raise SetupError(f"{_called(python)} is Python {version[0]}.{version[1]}; workers need 3.11 or newer")


def _called(python: str) -> str:
    """An interpreter as the user knows it: given by a flag, or made by `yardarm setup`."""
    if Path(python).is_relative_to(data_folder()):
        return f"{python} (made by `yardarm setup`)"
    return f"--env.python={python}"


def paths_for(python: str) -> list[str]:
    """The search path that a launcher gets in addition to its own: all of this process's, for the same interpreter.

    Another interpreter gets only the user's own folders, not the packages installed for this one.
    """
    entries = [os.path.abspath(entry) for entry in sys.path]
    if not python:
        return entries
    roots = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    return [entry for entry in entries if not _is_installed(Path(entry).resolve(), roots)]


def _is_installed(entry: Path, roots: Iterable[Path]) -> bool:
    return any(entry.is_relative_to(root) for root in roots) or entry.name in ("site-packages", "dist-packages")
