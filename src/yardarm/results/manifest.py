"""The manifest of a run: what it is, what it was made with, and how far it has come."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yardarm
from yardarm.machine import cpu_model, total_memory_gb, usable_cores
from yardarm.results.files import RunFolder, write_json

__all__ = ["Manifest", "versions"]

FORMAT = 1
PACKAGES = ("numpy", "scipy", "mujoco", "metaworld", "gymnasium", "torch", "av", "draccus", "rich")


class Manifest:
    """Kept up to date while a run goes on: its status is running, finished or interrupted."""

    def __init__(self, folder: RunFolder, content: Mapping[str, Any]) -> None:
        self._folder = folder
        earlier = folder.read_manifest() if folder.manifest.exists() else {}
        self._session_started = time.monotonic()
        self._earlier_s = earlier.get("wall_s", 0.0)
        self._content = {"format": FORMAT, "started": earlier.get("started", _now()), **content, **_provenance()}
        self.write("running")

    @property
    def wall_s(self) -> float:
        """Seconds that the run has taken, over all its sessions."""
        return self._earlier_s + time.monotonic() - self._session_started

    def write(self, status: str) -> None:
        """Write the manifest with a new status."""
        now = {"status": status, "updated": _now(), "wall_s": self.wall_s}
        write_json(self._folder.manifest, {**self._content, **now})


def versions() -> dict[str, str | None]:
    """Installed versions, without importing anything; None for what is missing."""
    found: dict[str, str | None] = {"yardarm": yardarm.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def _provenance() -> dict[str, Any]:
    """Everything about this machine and this process that a reader of the results may ask for."""
    return {
        "versions": versions(),
        "machine": {
            "platform": platform.platform(),
            "cpu": cpu_model(),
            "usable_cores": usable_cores(),
            "memory_gb": total_memory_gb(),
        },
        "git_commit": _git_commit(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "environment": {name: os.environ[name] for name in ("MUJOCO_GL", "OMP_NUM_THREADS") if name in os.environ},
    }


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


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
