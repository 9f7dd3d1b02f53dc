"""Finds what is probably not worth keeping: runs that never finished an episode, and old ones that never finished."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.results import RunFolder, is_going_on
from yardarm.workspace.folder_catalogue import Line
from yardarm.workspace.sizes import folder_size
from yardarm.workspace.viewed_folder import ViewedFolder, is_one
from yardarm.workspace.workspace import Workspace

__all__ = ["OLD_DAYS", "Leftover", "find_leftovers"]

OLD_DAYS = 30
UNFINISHED = ("interrupted", "incomplete")
# A folder with an empty journal and nothing else but these never became a run.
BEGINNINGS = {"episodes.jsonl", "workers.log", "config.yaml", "policy_error.txt", "labels.json"}


@dataclass(frozen=True, slots=True)
class Leftover:
    """A folder that is probably not worth keeping."""

    name: str
    reason: str
    size: int


def find_leftovers(workspace: Workspace, old_days: float = OLD_DAYS) -> list[Leftover]:
    """Everything that could go to the trash; nothing that is running, and no part of something larger."""
    viewed = workspace.viewed
    found = [(name, "never became a run") for name in _beginnings(viewed)]
    for line in workspace.lines()["runs"]:
        if not line["part"] and line["name"] != "." and (reason := _reason(viewed.root / line["name"], line, old_days)):
            found.append((line["name"], reason))
    return [Leftover(name, reason, folder_size(viewed.root / name)) for name, reason in sorted(found)]


def _reason(path: Path, line: Line, old_days: float) -> str | None:
    if line["status"] not in UNFINISHED:
        return None
    if not line["episodes"] + line["errors"]:
        return "never finished an episode"
    days = (time.time() - RunFolder(path).journal.stat().st_mtime) / 86400
    done = f"{line['episodes'] + line['errors']} of {line['planned']} episodes"
    return f"unfinished for {days:.0f} days, {done}" if days > old_days else None


def _beginnings(viewed: ViewedFolder) -> Iterator[str]:
    """Folders that a killed command left before its run began."""
    around = {found.path for found in viewed.walk()}
    for place, folders, files in os.walk(viewed.root):
        folders[:] = [own for own in folders if not own.startswith(".") and Path(place) not in around]
        journal = Path(place, "episodes.jsonl")
        if is_one(files) or folders or not {"episodes.jsonl"} <= {*files} <= BEGINNINGS or Path(place) == viewed.root:
            continue
        if not journal.stat().st_size and not is_going_on(RunFolder(Path(place))):
            yield os.path.relpath(place, viewed.root)
