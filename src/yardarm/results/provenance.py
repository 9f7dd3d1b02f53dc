"""What a session of this process would be made with."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from yardarm.machine import cpu_model, total_memory_gb, usable_cores, versions
from yardarm.results.environment import influential_variables
from yardarm.results.manifest.session import MachineRecord, SessionRecord
from yardarm.secrecy import redacted

__all__ = ["now", "provenance"]


def provenance(modules: Iterable[str] = ()) -> SessionRecord:
    """Everything about this machine and this process that a reader of the results may ask for.

    `modules` are those whose packages' versions are told beside the usual ones.
    """
    return SessionRecord(
        started=now(),
        versions=versions(modules),
        environment_variables=influential_variables(),
        machine=MachineRecord(platform.platform(), cpu_model(), usable_cores(), total_memory_gb()),
        git_commit=_git_commit(),
        command=(Path(sys.argv[0]).name, *redacted(sys.argv[1:])),
    )


def _git_commit() -> str | None:
    """The commit of the folder that the command was given in; "+" marks uncommitted changes."""
    try:
        commit = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, timeout=5, check=True).stdout.strip()


def now() -> str:
    """The time, as manifests have it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
