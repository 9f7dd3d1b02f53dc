"""The trash: a folder `.trash` in the viewed folder, from which everything can be put back until it is emptied.

    .trash/2026-11-18_09-30-12_reach/trashed.json    where it was, and when it was deleted
    .trash/2026-11-18_09-30-12_reach/content/        the folder itself

It is on the same file system, so deleting and restoring are one rename each, however large the folder is.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.files import write_json
from yardarm.results import TrashedRecord, now, read_trashed
from yardarm.workspace.sizes import folder_size
from yardarm.workspace.viewed_folder import ViewedFolder

__all__ = ["TRASH", "Trash", "TrashedFolder"]

TRASH = ".trash"
RECORD = "trashed.json"
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class TrashedFolder:
    """A folder in the trash."""

    id: str
    """The path of its entry, relative to the viewed folder."""
    entry: Path
    record: TrashedRecord

    @property
    def content(self) -> Path:
        """The folder that was deleted."""
        return self.entry / "content"

    @property
    def origin(self) -> Path:
        """Where it was."""
        return self.entry.parent.parent / self.record.place

    @property
    def size(self) -> int:
        """The bytes that emptying the trash frees."""
        return folder_size(self.content)


class Trash:
    """What was deleted below a viewed folder."""

    def __init__(self, viewed: ViewedFolder) -> None:
        self._viewed = viewed

    def put(self, name: str) -> TrashedFolder:
        """Move a folder into the trash; everything about it is checked before."""
        root, path = self._viewed.root, self._viewed.root / name
        record = TrashedRecord(name, now())
        try:
            entry = self._new_entry(path.name)
            write_json(entry / RECORD, record.to_json())
            found = TrashedFolder(os.path.relpath(entry, root), entry, record)
            os.rename(path, found.content)
        except OSError as error:
            raise UsageError(f"'{name}' cannot be moved to {root / TRASH}: {error.strerror}") from error
        return found

    def folders(self) -> list[TrashedFolder]:
        """Everything in the trash, newest first; also in that of a folder inside, which may be viewed on its own."""
        return sorted(self._folders(), key=lambda own: (own.record.deleted, own.id), reverse=True)

    def find(self, id: str) -> TrashedFolder:
        """A folder in the trash, by its id, or by the place or name of what was deleted if there is only one."""
        known = self.folders()
        fits = [own for own in known if own.id == id]
        fits = fits or [own for own in known if id in (str(own.origin), own.record.place, own.entry.name)]
        if len(fits) > 1:
            raise UsageError(f"'{id}' is in the trash {len(fits)} times: {', '.join(own.id for own in fits)}; name one")
        if not fits:
            raise UsageError(f"'{id}' is not in the trash; `yardarm runs trash` lists what is")
        return fits[0]

    def restore(self, trashed: TrashedFolder) -> Path:
        """Put a folder back where it was; refused if something else is there."""
        origin = trashed.origin
        if os.path.lexists(origin):
            raise UsageError(f"{origin} exists again, so what was deleted there cannot be put back; move it away first")
        if not self._viewed.contains(origin.parent):
            raise UsageError(f"{origin} is outside the viewed folder")
        try:
            origin.parent.mkdir(parents=True, exist_ok=True)
            os.rename(trashed.content, origin)
            self._remove(trashed.entry)
        except OSError as error:
            raise UsageError(f"{origin} cannot be put back: {error.strerror}") from error
        return origin

    def empty(self) -> int:
        """Delete everything in the trash for good; returns the bytes that this has freed."""
        freed = 0
        for trashed in self.folders():
            freed += trashed.size
            self._remove(trashed.entry)
        return freed

    def _new_entry(self, name: str) -> Path:
        wanted = f"{dt.datetime.now():%Y-%m-%d_%H-%M-%S}_{name[:LONGEST_NAME]}"
        for number in itertools.count(1):
            entry = self._viewed.root / TRASH / (wanted if number == 1 else f"{wanted}-{number}")
            with contextlib.suppress(FileExistsError):
                entry.mkdir(parents=True)
                return entry
        raise AssertionError("there is always another number")

    def _remove(self, entry: Path) -> None:
        """Remove an entry, and the trash if it was the last; links are removed, not followed."""
        shutil.rmtree(entry)
        with contextlib.suppress(OSError):  # it is not empty
            entry.parent.rmdir()

    def _folders(self) -> Iterator[TrashedFolder]:
        for path, folders, _ in os.walk(self._viewed.root):
            if TRASH in folders and not (trash := Path(path, TRASH)).is_symlink():
                yield from self._in(trash)
            folders[:] = [own for own in folders if not own.startswith(".")]

    def _in(self, trash: Path) -> Iterator[TrashedFolder]:
        for entry in sorted(trash.iterdir()):
            try:
                record = read_trashed(entry / RECORD)
            except UsageError:
                continue  # something else, or from a later version: left alone
            if (entry / "content").is_dir() and _stays_inside(record.place):
                yield TrashedFolder(os.path.relpath(entry, self._viewed.root), entry, record)


def _stays_inside(place: str) -> bool:
    """Whether a place from a file is a plain relative path."""
    return not os.path.isabs(place) and ".." not in Path(place).parts and place not in ("", ".")
