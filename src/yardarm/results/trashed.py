"""What is written down about a deleted folder, so that it can be put back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yardarm.contents import read_json
from yardarm.errors import UsageError
from yardarm.results.manifest.codec import Record
from yardarm.results.manifest.formats import check_format

__all__ = ["TrashedRecord", "read_trashed"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class TrashedRecord(Record):
    """All of `trashed.json`."""

    place: str
    """Where the folder was, relative to the folder with the trash."""
    deleted: str
    """When."""
    format: int = FORMAT


def read_trashed(path: Path) -> TrashedRecord:
    """Read a record; a UsageError if it is damaged, or from a later version of Yardarm."""
    try:
        content = read_json(path)
        check_format(content, path, FORMAT)
        return TrashedRecord.from_json(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {error}") from error
