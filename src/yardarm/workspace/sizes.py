"""How much disk space folders take."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["folder_size", "readable_size"]


def folder_size(path: Path) -> int:
    """The bytes of all files below a folder; what links lead to is not counted, nor what vanishes meanwhile."""
    total = 0
    waiting = [os.fspath(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def readable_size(size: float) -> str:
    """A size in a readable unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
