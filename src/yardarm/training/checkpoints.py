"""Checkpoints of a training in LeRobot's layout, written as a whole and checked before they are used."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from yardarm.errors import UsageError, YardarmError, one_line
from yardarm.files import sync, temporary_path
from yardarm.results import TrainingFolder, now
from yardarm.training.config_file import TRAIN_CONFIG

__all__ = [
    "Checkpoint",
    "find_checkpoint_to_resume",
    "has_checkpoints",
    "read_state_json",
    "set_aside",
    "write_checkpoint",
]

POLICY = "pretrained_model"
STATE = "training_state"
LAST = "last"
CHECKSUMS = "checksums.json"
STEP_NAME = re.compile(r"\d{6,}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with a policy, and everything that its training needs to resume."""

    path: Path

    @property
    def step(self) -> int:
        """The step after which it was written."""
        return int(self.path.name)

    @property
    def policy(self) -> Path:
        """The policy's own folder, which `--policy.path` takes."""
        return self.path / POLICY

    @property
    def state(self) -> Path:
        """The folder of the training's state."""
        return self.path / STATE

    @property
    def config(self) -> Path:
        """The training's configuration."""
        return self.policy / TRAIN_CONFIG

    def problem(self) -> str | None:
        """What is damaged or missing, if something is; checkpoints of LeRobot's have no checksums."""
        for folder in (self.policy, self.state):
            if not folder.is_dir():
                return f"it has no {folder.name}"
        listed = self.state / CHECKSUMS
        if not listed.is_file():
            return None
        try:
            checksums = json.loads(listed.read_text(encoding="utf-8"))
        except ValueError:
            return f"{STATE}/{CHECKSUMS} cannot be read"
        for name, expected in checksums.items():
            file = self.path / name
            if not file.is_file():
                return f"{name} is missing"
            if _checksum(file) != expected:
                return f"{name} has changed since it was written"
        return None


def write_checkpoint(folder: Path, step: int, fill: Callable[[Checkpoint], None]) -> Checkpoint:
    """Have a checkpoint filled beside its place, flush it to the disk, put it there, and let `last` point to it."""
    final = Checkpoint(folder / f"{step:06d}")
    partial = Checkpoint(temporary_path(final.path))
    shutil.rmtree(partial.path, ignore_errors=True)
    try:
        partial.policy.mkdir(parents=True)
        partial.state.mkdir()
        fill(partial)
        files = [path for path in sorted(partial.path.rglob("*")) if path.is_file()]
        checksums = {path.relative_to(partial.path).as_posix(): _checksum(path) for path in files}
        (partial.state / CHECKSUMS).write_text(json.dumps(checksums, indent=1), encoding="utf-8")
        for path in (*files, partial.state / CHECKSUMS, partial.policy, partial.state, partial.path):
            sync(path)
        if final.path.exists():  # of the same step, from before a resume
            final.path.rename(folder / f".{step:06d}.old")
        partial.path.rename(final.path)
    except (OSError, SafetensorError) as error:
        raise YardarmError(
            f"a checkpoint cannot be written to {final.path} ({one_line(error)}); those before it are kept"
        ) from error
    finally:
        shutil.rmtree(partial.path, ignore_errors=True)
        shutil.rmtree(folder / f".{step:06d}.old", ignore_errors=True)
    _point_last_to(final.path)
    sync(folder)
    return final


def find_checkpoint_to_resume(named: Path) -> Checkpoint:
    """The checkpoint that a path means: its `train_config.json`, its folder, or a training's folder (then its newest).

    A damaged one is refused, and the one before it is offered.
    """
    path = named.expanduser()
    if not path.exists():
        raise UsageError(
            f"there is no {named} to resume from; --config_path takes a training's folder, or a checkpoint's"
        )
    path = path.resolve()
    folder = path.parent if path.is_file() else path
    if folder.name in (POLICY, STATE):
        folder = folder.parent
    if not STEP_NAME.fullmatch(folder.name):
        inner = folder if folder.name == "checkpoints" else folder / "checkpoints"
        found = list(_checkpoints(inner))
        if not found:
            raise UsageError(f"{named} has no checkpoints to resume from; start it again, without --resume")
        folder = found[-1].path
    checkpoint = Checkpoint(folder)
    if problem := checkpoint.problem():
        raise UsageError(f"the checkpoint {folder} is damaged: {problem}; {_offer(checkpoint)}")
    return checkpoint


def set_aside(folder: TrainingFolder, step: int) -> None:
    """Make room for another course from a step on: what an earlier one left behind is kept, under `abandoned`."""
    later = [checkpoint.path for checkpoint in _checkpoints(folder.checkpoints) if checkpoint.step > step]
    if not later:
        return
    runs = [run for run in folder.path.glob("eval/step_*") if int(run.name.partition("_")[2][:6]) > step]
    place = folder.path / "abandoned" / f"{now().replace(':', '-')}_after_step_{step:06d}"
    for path in (*later, *runs):
        target = place / path.relative_to(folder.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    _point_last_to(folder.checkpoints / f"{step:06d}")


def has_checkpoints(folder: Path) -> bool:
    """Whether a training's folder has any."""
    return any(True for _ in _checkpoints(TrainingFolder(folder).checkpoints))


def _offer(damaged: Checkpoint) -> str:
    earlier = [known for known in _checkpoints(damaged.path.parent) if known.step < damaged.step]
    for checkpoint in reversed(earlier):
        if checkpoint.problem() is None:
            return f"the one before it is whole: --config_path={checkpoint.config}"
    return "and there is none before it that is whole"


def _checkpoints(folder: Path) -> Iterator[Checkpoint]:
    """All of them, by step."""
    if folder.is_dir():
        names = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
        own = [Checkpoint(path) for path in names if STEP_NAME.fullmatch(path.name)]
        yield from sorted(own, key=lambda checkpoint: checkpoint.step)


def _point_last_to(path: Path) -> None:
    link = temporary_path(path.parent / LAST)
    link.unlink(missing_ok=True)
    link.symlink_to(path.name)
    os.replace(link, path.parent / LAST)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_state_json(path: Path) -> Any:
    """A JSON file of a training's state."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read, so the training cannot resume from there: {error}") from error
