"""The folders of one kind below the viewed folder, with a cached summary line for each."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from yardarm.errors import UsageError, one_line
from yardarm.results import RunFolder, SeveralFolder, TrainingFolder, is_going_on, labels_file
from yardarm.workspace.file_cache import Stamp, stamp_of
from yardarm.workspace.labelling import label_fields
from yardarm.workspace.viewed_folder import FoundFolder, ViewedFolder, part_of, project_of

__all__ = ["FolderCatalogue", "Line"]

Line = dict[str, Any]
F = TypeVar("F", RunFolder, TrainingFolder, SeveralFolder)


class FolderCatalogue(ABC, Generic[F]):
    """A summary line for each folder of a kind: name, labels, status, and the other columns of the list."""

    kind: str
    """What these folders are: "run", "training" or "several"."""

    def __init__(self, viewed: ViewedFolder) -> None:
        self.viewed = viewed
        self._lock = threading.Lock()
        self._lines: dict[str, tuple[Stamp, Line]] = {}
        self._within: dict[str, str | None] = {}

    @abstractmethod
    def folder(self, name: str) -> F:
        """The folder with this name; a UsageError if there is none."""

    @abstractmethod
    def _chosen(self, found: FoundFolder) -> F | None:
        """The folder, if it is of this kind."""

    @abstractmethod
    def _stamp(self, folder: F) -> Stamp:
        """A value that changes when the folder's files do."""

    @abstractmethod
    def _read_line(self, name: str, folder: F) -> Line:
        """Read the summary line; raises if the folder is damaged."""

    def lines(self, found: Iterable[FoundFolder] | None = None) -> list[Line]:
        """A line for each folder that was `found`, or that a walk finds now; newest first."""
        chosen = [(own, self._chosen(own)) for own in (self.viewed.walk() if found is None else found)]
        self._within = {own.name: own.within for own, folder in chosen if folder is not None}
        lines = {own.name: self._line(own.name, folder) for own, folder in chosen if folder is not None}
        with self._lock:
            self._lines = {name: known for name, known in self._lines.items() if name in lines}
        return sorted(lines.values(), key=lambda line: str(line.get("started") or ""), reverse=True)

    def refreshed(self, lines: Iterable[Line]) -> list[Line]:
        """The same lines, with those of running folders read again, which is cheaper than a walk."""
        return [self._read_again(line) if line["status"] == "running" else line for line in lines]

    def line(self, name: str) -> Line:
        """The line of one folder."""
        return self._line(name, self.folder(name))

    def _read_again(self, line: Line) -> Line:
        try:
            return self.line(line["name"])
        except UsageError:
            return line  # it is gone, as the next walk will find

    def _line(self, name: str, folder: F) -> Line:
        stamp = (*self._stamp(folder), stamp_of(labels_file(folder.path)))
        with self._lock:
            known = self._lines.get(name)
        if known is None or known[0] != stamp:
            known = (stamp, self._summarised(name, folder))
        elif known[1]["status"] == "running" and not self._goes_on(folder):
            # It was killed, so its files do not change.
            known = (stamp, self._summarised(name, folder))
        with self._lock:
            self._lines[name] = known
        return {**known[1], **self._placed(name)}

    def _goes_on(self, folder: F) -> bool:
        assert not isinstance(folder, SeveralFolder)
        return is_going_on(folder)

    def _placed(self, name: str) -> Line:
        """Where it stands among the others."""
        within = self._within[name] if name in self._within else self.viewed.within(name)
        return {"within": within, "part": part_of(name, within), "project": project_of(name)}

    def _summarised(self, name: str, folder: F) -> Line:
        """The summary line; for a damaged folder, what is wrong with it."""
        line: Line = {"name": name, "kind": self.kind, **label_fields(folder.path)}
        try:
            self.viewed.check_links(folder.path)
            return {**line, **self._read_line(name, folder)}
        except Exception as error:  # a problem with one folder must not hide the rest
            problem = str(error) if isinstance(error, UsageError) else one_line(error)
            return {**line, "status": "damaged", "problem": problem}
