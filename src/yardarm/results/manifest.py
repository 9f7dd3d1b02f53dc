"""What a run was made with: versions, machine, commit, command."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yardarm
from yardarm.machine import cpu_model, total_memory_gb, usable_cores

__all__ = ["PACKAGES", "provenance", "versions"]

PACKAGES = ("numpy", "scipy", "mujoco", "metaworld", "gymnasium", "torch", "av", "draccus", "rich")


def versions() -> dict[str, str | None]:
    """Installed versions, without importing anything; None for what is missing."""
    found: dict[str, str | None] = {"yardarm": yardarm.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def provenance() -> dict[str, Any]:
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
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")
