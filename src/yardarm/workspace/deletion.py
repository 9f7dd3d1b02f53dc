"""What deleting runs, trainings and evaluations would take away, and who would miss it; and the deletion itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.results import RunFolder, TrainingFolder, is_going_on
from yardarm.workspace.folder_catalogue import Line
from yardarm.workspace.sizes import folder_size
from yardarm.workspace.viewed_folder import ViewedFolder, is_run, is_training

__all__ = ["Deletion", "plan_deletion"]

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Deletion:
    """Folders that can be moved to the trash together."""

    names: tuple[str, ...]
    size: int
    """In bytes."""
    runs: int
    """How many runs are in them, with those inside of others."""
    checkpoints: int
    """How many checkpoints of trainings are in them."""
    warnings: tuple[str, ...]
    """Who would miss them."""

    def to_json(self) -> dict[str, Any]:
        """As a page shows it."""
        return asdict(self)


def plan_deletion(viewed: ViewedFolder, names: Sequence[str], lines: Mapping[str, Line]) -> Deletion:
    """Check that folders can be deleted; a UsageError says which cannot, and why. `lines` are all, by name."""
    for name in names:
        _check(viewed, name, lines)
    # What lies inside another that is deleted goes with it.
    chosen = [name for name in dict.fromkeys(names) if not any(name != own and _is_in(name, own) for own in names)]
    inside = [line for name, line in lines.items() if any(_is_in(name, own) for own in chosen)]
    for line in inside:
        if _is_busy(viewed.root / line["name"]):
            raise UsageError(f"'{line['name']}' is running; stop it first")
    paths = [viewed.root / name for name in chosen]
    return Deletion(
        tuple(chosen),
        sum(folder_size(path) for path in paths),
        sum(line["kind"] == "run" for line in inside),
        sum(_checkpoints(viewed.root / line["name"]) for line in inside if line["kind"] == "training"),
        tuple(_warnings(viewed, chosen, lines)),
    )


def _check(viewed: ViewedFolder, name: str, lines: Mapping[str, Line]) -> None:
    line = lines.get(name)
    if line is None:
        raise UsageError(f"there is no run, training or evaluation '{name}'")
    if viewed.path(name) == viewed.root:
        raise UsageError("the viewed folder itself cannot be deleted; view the folder around it")
    if viewed.path(name) != viewed.root / name:
        raise UsageError(f"'{name}' is behind a link; delete what the link leads to")
    if line["part"]:
        raise UsageError(f"'{name}' is {line['part']} '{line['within']}': delete that as a whole, or hide '{name}'")


def _is_in(name: str, other: str) -> bool:
    return name == other or name.startswith(f"{other}/")


def _is_busy(path: Path) -> bool:
    """Whether a process plays or trains in a folder; if its manifest does not say, whether one has lately."""
    files = os.listdir(path)
    for folder in [RunFolder(path)] * is_run(files) + [TrainingFolder(path)] * is_training(files):
        try:
            status = folder.read_manifest().status
        except UsageError:
            status = "running"
        if status == "running" and is_going_on(folder):
            return True
    return False


def _checkpoints(path: Path) -> int:
    folder = TrainingFolder(path).checkpoints
    return sum(own.is_dir() and not own.is_symlink() for own in folder.iterdir()) if folder.is_dir() else 0


def _warnings(viewed: ViewedFolder, chosen: Sequence[str], lines: Mapping[str, Line]) -> list[str]:
    warnings = []
    for name in chosen:
        outside = [line for own, line in lines.items() if not any(_is_in(own, other) for other in chosen)]
        users = [
            line["name"] for line in outside if any(_leads_into(viewed, use, name) for use in line.get("uses", ()))
        ]
        if users:
            more = f" and {len(users) - MOST_NAMED} more" if len(users) > MOST_NAMED else ""
            named = ", ".join(users[:MOST_NAMED]) + more
            what = "checkpoints" if lines[name]["kind"] == "training" else "episodes"
            warnings.append(f"{named}: made with the {what} of {name}; the results stay, but cannot be played again")
        if name.rpartition("/")[2].startswith("shard_"):
            warnings.append(f"{name} is a shard: `yardarm merge` will miss it")
    return warnings


def _leads_into(viewed: ViewedFolder, use: str, name: str) -> bool:
    """Whether a path, which may be relative to where a command was given, is inside a folder."""
    return Path(use).absolute().resolve().is_relative_to(viewed.root / name)
