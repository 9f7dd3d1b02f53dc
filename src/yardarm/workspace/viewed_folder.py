"""The viewed folder: finds runs, trainings and evaluations of several policies in it, and refuses anything outside."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError

__all__ = ["FoundFolder", "ViewedFolder", "is_one", "is_run", "is_several", "is_training", "part_of", "project_of"]

# A folder with two of these is a run, even if one is lost.
SIGNS = ("manifest.json", "config.yaml", "episodes.jsonl")
# LeRobot's runs have only this.
LEROBOTS = "eval_info.json"
# A folder with this is a training.
TRAININGS = "training.json"
# A folder with this is an evaluation of several policies.
SEVERAL = "evaluation.json"
# Folders inside a run or a training that contain neither.
INSIDE_RUNS = ("actions", "pictures", "videos", "wandb")
INSIDE_TRAININGS = ("checkpoints", "wandb")
# Folders that `yardarm eval` and `yardarm train` make for each day.
DAY = re.compile(r"\d{4}-\d\d-\d\d")
# What a folder is of the run or training around it, by its path there.
PARTS = {
    r"(.*/)?against": "the opponent in",
    r"(.*/)?shard_\d+_of_\d+(/.*)?": "a shard of",
    r"(.*/)?policies/[^/]+": "one of the policies of",
    r"eval/[^/]+": "an evaluation of",
}


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A run, a training or an evaluation of several policies; its name is its path relative to the viewed folder."""

    name: str
    path: Path
    is_run: bool
    is_training: bool
    is_several: bool = False
    within: str | None = None
    """The name of the innermost of these that it lies in."""


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

    def within(self, name: str) -> str | None:
        """The name of the innermost run, training or evaluation around the folder with this name, if any."""
        path = self.path(name)
        for around in path.parents if path != self.root else ():
            if not around.is_relative_to(self.root):
                return None
            if around.is_dir() and is_one(os.listdir(around)):
                return os.path.relpath(around, self.root)
        return None

    def walk(self) -> Iterator[FoundFolder]:
        """Find runs, trainings and evaluations of several policies; those around others come first."""
        around: dict[str, str] = {}
        for path, folders, files in os.walk(self.root):
            name = os.path.relpath(path, self.root)
            # The parent was walked before, and knows what it lies in, or is.
            within = around.get(os.path.dirname(name) or ".") if name != "." else None
            found = FoundFolder(name, Path(path), is_run(files), is_training(files), is_several(files), within)
            inside = (*(INSIDE_RUNS if found.is_run else ()), *(INSIDE_TRAININGS if found.is_training else ()))
            if "meta" in folders and os.path.exists(os.path.join(path, "meta", "info.json")):
                folders.clear()  # a dataset, which may have very many files
            folders[:] = [own for own in folders if not own.startswith(".") and own not in inside]
            # No address could contain a name that cannot be printed.
            listed = is_one(files) and name.isprintable()
            if listed or within is not None:
                around[name] = name if listed else str(within)
            if listed:
                yield found


def is_one(files: Collection[str]) -> bool:
    """Whether a folder with these files is a run, a training or an evaluation of several policies."""
    return is_run(files) or is_training(files) or is_several(files)


def is_run(files: Collection[str]) -> bool:
    """Whether a folder with these files is a run."""
    return LEROBOTS in files or sum(sign in files for sign in SIGNS) >= 2


def is_training(files: Collection[str]) -> bool:
    """Whether a folder with these files is a training."""
    return TRAININGS in files


def is_several(files: Collection[str]) -> bool:
    """Whether a folder with these files is an evaluation of several policies."""
    return SEVERAL in files


def part_of(name: str, within: str | None) -> str | None:
    """What a folder is of the one around it ("the opponent in"); None if it only happens to lie there."""
    if within is None:
        return None
    inside = os.path.relpath(name, within)
    return next((what for place, what in PARTS.items() if re.fullmatch(place, inside)), None)


def project_of(name: str) -> str:
    """The folder that the user sorted it into, without the folders of days; "." is the viewed folder itself."""
    parts = [part for part in os.path.dirname(name).split("/") if part and not DAY.fullmatch(part)]
    return "/".join(parts) or "."
