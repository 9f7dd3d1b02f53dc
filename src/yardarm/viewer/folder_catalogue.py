"""Folders of one kind with a line about each, which is made anew only when their files have changed."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from yardarm.errors import UsageError, one_line
from yardarm.results import RunFolder, TrainingFolder, is_going_on
from yardarm.viewer.file_cache import Stamp
from yardarm.viewer.viewed_folder import FoundFolder, ViewedFolder

__all__ = ["Line", "Listing"]

Line = dict[str, Any]
F = TypeVar("F", RunFolder, TrainingFolder)


class Listing(ABC, Generic[F]):
    """A line about each run, or about each training: its name, its status, and what else the list shows."""

    def __init__(self, viewed: ViewedFolder) -> None:
        self.viewed = viewed
        self._lock = threading.Lock()
        self._lines: dict[str, tuple[Stamp, Line]] = {}

    @abstractmethod
    def folder(self, name: str) -> F:
        """The one of this name, if there is one."""

    @abstractmethod
    def _chosen(self, found: FoundFolder) -> F | None:
        """What was found, if it is of this kind."""

    @abstractmethod
    def _stamp(self, folder: F) -> Stamp:
        """What changes when its files do."""

    @abstractmethod
    def _read_line(self, name: str, folder: F) -> Line:
        """What the list says; a damaged one raises."""

    def lines(self, found: Iterable[FoundFolder] | None = None) -> list[Line]:
        """A line about each, newest first: of what was found by a walk, or is now."""
        every = [(own.name, self._chosen(own)) for own in (self.viewed.walk() if found is None else found)]
        lines = {name: self._line(name, folder) for name, folder in every if folder is not None}
        with self._lock:
            self._lines = {name: known for name, known in self._lines.items() if name in lines}
        return sorted(lines.values(), key=lambda line: str(line.get("started") or ""), reverse=True)

    def brought_up_to_date(self, lines: Iterable[Line]) -> list[Line]:
        """The same lines, of which those of what is going on are read again; that costs less than a walk."""
        return [self._read_again(line) if line["status"] == "running" else line for line in lines]

    def line(self, name: str) -> Line:
        """A line about one."""
        return self._line(name, self.folder(name))

    def _read_again(self, line: Line) -> Line:
        try:
            return self.line(line["name"])
        except UsageError:
            return line  # it has gone, which the next walk finds

    def _line(self, name: str, folder: F) -> Line:
        stamp = self._stamp(folder)
        with self._lock:
            known = self._lines.get(name)
        if known is None or known[0] != stamp:
            known = (stamp, self._summed_up(name, folder))
        elif known[1]["status"] == "running" and not is_going_on(folder):
            # It was killed, and so its files do not change.
            known = (stamp, self._summed_up(name, folder))
        with self._lock:
            self._lines[name] = known
        return known[1]

    def _summed_up(self, name: str, folder: F) -> Line:
        """What the list says; of a damaged one, what is wrong with it."""
        try:
            self.viewed.check_links(folder.path)
            return self._read_line(name, folder)
        except Exception as error:  # whatever is wrong with one of them, the list shows the others
            said = str(error) if isinstance(error, UsageError) else one_line(error)
            return {"name": name, "status": "damaged", "problem": said}
