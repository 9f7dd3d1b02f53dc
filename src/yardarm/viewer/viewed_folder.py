"""The viewed folder: finds runs and trainings in it, and refuses anything outside."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError

__all__ = ["FoundFolder", "ViewedFolder", "is_run", "is_training"]

# A folder with two of these is a run, even if one is lost.
SIGNS = ("manifest.json", "config.yaml", "episodes.jsonl")
# LeRobot's runs have only this.
LEROBOTS = "eval_info.json"
# A folder with this is a training.
TRAININGS = "training.json"
# Folders inside a run or a training that contain neither.
INSIDE_RUNS = ("actions", "pictures", "videos", "wandb")
INSIDE_TRAININGS = ("checkpoints", "wandb")


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A run or a training; its name is its path relative to the viewed folder."""

    name: str
    path: Path
    is_run: bool
    is_training: bool


class ViewedFolder:
    """Resolves names to paths inside a folder, and follows links safely."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"there is no folder {root}; `yardarm view` takes a folder of runs, or one run")
        self.root = root.resolve()

    def path(self, name: str) -> Path:
        """The path with this name; never outside the folder."""
        try:
            path = (self.root / name).resolve()
        except ValueError:
            raise UsageError(f"{name!r} is not a valid name of a folder") from None
        if not self.contains(path):
            raise UsageError(f"'{name}' is outside the viewed folder")
        return path

    def contains(self, path: Path) -> bool:
        """Whether a path is inside the folder, with links resolved."""
        return path.resolve().is_relative_to(self.root)

    def check_links(self, path: Path) -> None:
        """Raise a UsageError if `path` has links to outside the folder."""
        for entry in os.scandir(path):
            if entry.is_symlink() and not self.contains(Path(entry)):
                raise UsageError(f"{entry.name} is a link to outside the viewed folder")

    def walk(self) -> Iterator[FoundFolder]:
        """Find runs and trainings."""
        for path, folders, files in os.walk(self.root):
            found = FoundFolder(os.path.relpath(path, self.root), Path(path), is_run(files), is_training(files))
            inside = (*(INSIDE_RUNS if found.is_run else ()), *(INSIDE_TRAININGS if found.is_training else ()))
            folders[:] = [name for name in folders if not name.startswith(".") and name not in inside]
            # No address could contain a name that cannot be printed.
            if (found.is_run or found.is_training) and found.name.isprintable():
                yield found


def is_run(files: Collection[str]) -> bool:
    """Whether a folder with these files is a run."""
    return LEROBOTS in files or sum(sign in files for sign in SIGNS) >= 2


def is_training(files: Collection[str]) -> bool:
    """Whether a folder with these files is a training."""
    return TRAININGS in files
