"""What a training leaves on disk: its manifest, its learning curve, its checkpoints and its evaluations."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.contents import count, parse_json, read_json, record, text
from yardarm.errors import UsageError
from yardarm.files import write_atomically
from yardarm.results.manifest.formats import check_format
from yardarm.results.manifest.training import TrainingManifest
from yardarm.results.watched_file import WatchedFile

__all__ = ["Curve", "CurveReader", "TrainingFolder", "read_curve"]

POINT = record({"step": count, "kind": text})
"""What each line of a curve must hold; the rest depends on its kind."""


@dataclass(frozen=True, slots=True)
class TrainingFolder:
    """The places of a training's files."""

    path: Path

    @property
    def manifest(self) -> Path:
        """What is trained, what it was made with, and how far it has come."""
        return self.path / "training.json"

    @property
    def journal(self) -> Path:
        """One line for each point of the learning curve."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """Folders by step, and `last`."""
        return self.path / "checkpoints"

    def evaluation(self, step: int) -> Path:
        """The run that evaluates the weights of a step."""
        return self.path / "eval" / f"step_{step:06d}"

    def read_manifest(self) -> TrainingManifest:
        """The manifest as it is now."""
        try:
            content = read_json(self.manifest)
            check_format(content, self.manifest)
            return TrainingManifest.from_json(content)
        except OSError as error:
            raise UsageError(f"{self.manifest} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{self.manifest} is damaged: {error}") from error


def read_curve(path: Path) -> Iterator[dict[str, Any]]:
    """The points of a curve; a last line that was torn by a crash is passed over."""
    if path.exists():
        yield from _points(path, path.read_bytes().split(b"\n")[:-1])


def _points(path: Path, lines: Sequence[bytes], before: int = 0) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=before + 1):
        try:
            point = parse_json(line)
            POINT(point, "")
        except ValueError as error:
            raise UsageError(f"{path} is damaged at line {number}: {error}; remove that line") from error
        yield point


class CurveReader:
    """Reads a curve again and again while it grows, and each time only what is new. Threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._forget(None)

    def points(self) -> list[dict[str, Any]]:
        """All points so far; none where there is no curve yet."""
        if not self._path.exists():
            return []
        with self._lock, self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            # A training resumed from a checkpoint replaces the old curve with a shorter one.
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._forget(status.st_ino)
            file.seek(self._offset)
            content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._known += list(_points(self._path, whole.split(b"\n")[:-1], before=len(self._known)))
            self._offset += len(whole)
            return list(self._known)

    def _forget(self, inode: int | None) -> None:
        self._inode = inode
        self._offset = 0
        self._known: list[dict[str, Any]] = []


class Curve:
    """The learning curve: points by step, each of a kind (train, validation, evaluation, checkpoint).

    A training resumed from a checkpoint removes what came after it, and measures it again. One process at a time
    may hold a curve open.
    """

    def __init__(self, path: Path, upto: int = 0) -> None:
        self._file = self._locked(path)
        self.points = [point for point in read_curve(path) if point["step"] <= upto]
        content = "".join(_line(point) for point in self.points).encode()
        if path.read_bytes() != content:
            write_atomically(path, lambda file: file.write(content))
            before, self._file = self._file, self._locked(path)
            before.close()
        self._held = WatchedFile(path, self._file)

    def append(self, point: Mapping[str, Any]) -> None:
        """Write a point."""
        self._file.write(_line(point).encode())
        self.points.append(dict(point))

    def restore(self) -> str:
        """Write all points again if the file was deleted, moved or replaced meanwhile; says so, or nothing."""
        if self._held.in_place:
            return ""
        moved, path = self._held.moved_to(), self._held.path
        write_atomically(path, lambda file: file.writelines(_line(point).encode() for point in self.points))
        happened = f"moved to {moved}" if moved else "deleted or replaced"
        return f"{path if self._held.has_folder else path.parent} was {happened}"

    def sync(self) -> None:
        """Have the disk know it all."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others have it."""
        self._held.close()
        self._file.close()

    @staticmethod
    def _locked(path: Path) -> Any:
        file = path.open("ab", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_ino != path.stat().st_ino:
                raise BlockingIOError  # who held it has put another in its place
        except BlockingIOError:
            file.close()
            raise UsageError(f"another process is training in {path.parent}; wait for it") from None
        return file


def _line(point: Mapping[str, Any]) -> str:
    return json.dumps(point, ensure_ascii=False, allow_nan=False) + "\n"
