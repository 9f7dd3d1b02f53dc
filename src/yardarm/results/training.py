"""What a training leaves on disk: its manifest, its learning curve, its checkpoints and its evaluations."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.files import write_atomically

__all__ = ["Curve", "TrainingFolder", "read_curve"]


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

    def read_manifest(self) -> dict[str, Any]:
        """The manifest as it is now."""
        try:
            content = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.manifest} cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise UsageError(f"{self.manifest} is damaged: it holds no JSON object")
        return content


def read_curve(path: Path) -> Iterator[dict[str, Any]]:
    """The points of a curve; a last line that was torn by a crash is passed over."""
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            point = json.loads(line)
            assert isinstance(point["step"], int)
            assert isinstance(point["kind"], str)
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} is damaged at line {number}; remove that line") from error
        yield point


class Curve:
    """The learning curve: points by step, each of a kind (train, validation, evaluation, checkpoint).

    A training that goes on from a checkpoint takes what came after it away, and measures it anew. One process at a time
    may hold a curve open.
    """

    def __init__(self, path: Path, upto: int = 0) -> None:
        kept = [point for point in read_curve(path) if point["step"] <= upto]
        content = "".join(_line(point) for point in kept).encode()
        self._file = self._locked(path)
        if path.read_bytes() != content:
            write_atomically(path, lambda file: file.write(content))
            self._file.close()
            self._file = self._locked(path)
        self.points = kept

    def append(self, point: Mapping[str, Any]) -> None:
        """Write a point."""
        self._file.write(_line(point).encode())
        self.points.append(dict(point))

    def sync(self) -> None:
        """Have the disk know it all."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others have it."""
        self._file.close()

    @staticmethod
    def _locked(path: Path) -> Any:
        file = path.open("ab", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise UsageError(f"another process is training in {path.parent}; wait for it") from None
        return file


def _line(point: Mapping[str, Any]) -> str:
    return json.dumps(point, ensure_ascii=False, allow_nan=False) + "\n"
