"""Reads the file that wandb keeps of a run that is not uploaded: records in LevelDB's log format."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

BLOCK = 32 * 1024
FILE_HEADER = 7
HEADER = struct.Struct("<IHB")  # checksum, length, kind
WHOLE, LAST = 1, 4


def read_records(path: Path) -> Iterator[Any]:
    """All records, put together where they were split."""
    data, place, parts = path.read_bytes(), FILE_HEADER, b""
    while place + HEADER.size <= len(data):
        left = BLOCK - place % BLOCK
        if left < HEADER.size:
            place += left
            continue
        _, length, kind = HEADER.unpack_from(data, place)
        place += HEADER.size
        parts += data[place : place + length]
        place += length
        if kind in (WHOLE, LAST):
            yield Record.FromString(parts)
            parts = b""


@dataclass(frozen=True)
class OfflineRun:
    """One session of a run, as wandb wrote it down."""

    folder: Path
    records: list[Any] = field(repr=False)

    @classmethod
    def all_of(cls, run: Path) -> list[OfflineRun]:
        """A run's sessions, in the order in which they began."""
        folders = sorted((run / "wandb").glob("offline-run-*"), key=lambda folder: folder.name)
        return [cls(folder, list(read_records(next(folder.glob("*.wandb"))))) for folder in folders]

    def of_kind(self, kind: str) -> list[Any]:
        """All records of a kind."""
        return [getattr(record, kind) for record in self.records if record.WhichOneof("record_type") == kind]

    @cached_property
    def run(self) -> Any:
        """Its id, name, project, notes and tags."""
        return self.of_kind("run")[-1]

    @cached_property
    def config(self) -> dict[str, Any]:
        return _values(self.run.config.update)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The last value of each name."""
        return _values(item for summary in self.of_kind("summary") for item in summary.update)

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        return [_values(record.item) for record in self.of_kind("history")]

    @cached_property
    def artifacts(self) -> dict[str, dict[str, Path]]:
        """By type: the names of their files, and where these lie."""
        return {
            artifact.type: {entry.path: Path(entry.local_path) for entry in artifact.manifest.contents}
            for artifact in self.of_kind("artifact")
        }

    def table(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table."""
        content = json.loads(self.media(self.summary[f"{name}.path"]).read_text())
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]

    def media(self, path: str) -> Path:
        """A file that was logged."""
        return self.folder / "files" / path


def _values(items: Any) -> dict[str, Any]:
    return {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}
