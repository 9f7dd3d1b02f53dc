"""The folder that is viewed: what is found in it, and what is kept from being shown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError

__all__ = ["FoundFolder", "ViewedFolder", "is_run", "is_training"]

# A folder with two of these is a run, even if one is lost.
SIGNS = ("manifest.json", "config.yaml", "episodes.jsonl")
# One of LeRobot's has this alone.
LEROBOTS = "eval_info.json"
# A folder with this is a training.
TRAININGS = "training.json"
# What lies inside of a run or a training, and is neither.
INSIDE_RUNS = ("actions", "videos", "wandb")
INSIDE_TRAININGS = ("checkpoints", "wandb")


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A folder that has something to show; it is named by its path inside of the folder that is viewed."""

    name: str
    path: Path
    is_run: bool
    is_training: bool


class ViewedFolder:
    """Knows what is inside of a folder, wherever links lead."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"there is no folder {root}; `yardarm view` takes a folder of runs, or a run")
        self.root = root.resolve()

    def path(self, name: str) -> Path:
        """What has this name; nothing outside of the folder has one."""
        try:
            path = (self.root / name).resolve()
        except ValueError:
            raise UsageError("that is no name of a folder") from None
        if not self.contains(path):
            raise UsageError(f"'{name}' is outside of the folder that is viewed")
        return path

    def contains(self, path: Path) -> bool:
        """Whether a path lies inside of the folder."""
        return path.resolve().is_relative_to(self.root)

    def check_links(self, path: Path) -> None:
        """Refuse what has links that lead out of the folder."""
        for entry in os.scandir(path):
            if entry.is_symlink() and not self.contains(Path(entry)):
                raise UsageError(f"{entry.name} is a link that leads outside of the folder that is viewed")

    def walk(self) -> Iterator[FoundFolder]:
        """Find runs and trainings."""
        for path, folders, files in os.walk(self.root):
            found = FoundFolder(os.path.relpath(path, self.root), Path(path), is_run(files), is_training(files))
            inside = (*(INSIDE_RUNS if found.is_run else ()), *(INSIDE_TRAININGS if found.is_training else ()))
            folders[:] = [name for name in folders if not name.startswith(".") and name not in inside]
            # A name that cannot be printed could be in no address.
            if (found.is_run or found.is_training) and found.name.isprintable():
                yield found


def is_run(files: Collection[str]) -> bool:
    """Whether a folder with these files is a run."""
    return LEROBOTS in files or sum(sign in files for sign in SIGNS) >= 2


def is_training(files: Collection[str]) -> bool:
    """Whether a folder with these files is a training."""
    return TRAININGS in files
