"""The runs below a folder, with a summary of each that is read again only when its files change."""

from __future__ import annotations

import os

from yardarm.errors import UsageError
from yardarm.replay import StoredRun
from yardarm.results import RunFolder, StoredResult, read_result
from yardarm.workspace.file_cache import FileCache, Stamp, stamp_of
from yardarm.workspace.folder_catalogue import FolderCatalogue, Line
from yardarm.workspace.run_line import run_line
from yardarm.workspace.viewed_folder import FoundFolder, ViewedFolder, is_run

__all__ = ["RunCatalogue"]


class RunCatalogue(FolderCatalogue[RunFolder]):
    """The runs below a folder. A run's name is its path relative to the folder."""

    kind = "run"

    def __init__(self, viewed: ViewedFolder) -> None:
        super().__init__(viewed)
        self._results: FileCache[StoredResult] = FileCache()
        self._stored_runs: FileCache[StoredRun] = FileCache()

    def folder(self, name: str) -> RunFolder:
        """The folder of the run with this name."""
        path = self.viewed.path(name)
        if not path.is_dir() or not is_run(os.listdir(path)):
            raise UsageError(f"there is no run '{name}'")
        self.viewed.check_links(path)
        return RunFolder(path)

    def result(self, name: str) -> StoredResult:
        """A run's current results."""
        folder = self.folder(name)
        return self._results.get(name, self._stamp(folder), lambda: read_result(folder))

    def stored_run(self, name: str) -> StoredRun:
        """A run whose episodes can be replayed, unless that needs code that the run refers to."""
        folder = self.folder(name)
        return self._stored_runs.get(name, self._stamp(folder), lambda: StoredRun(folder))

    def _chosen(self, found: FoundFolder) -> RunFolder | None:
        return RunFolder(found.path) if found.is_run else None

    def _stamp(self, folder: RunFolder) -> Stamp:
        return tuple(stamp_of(path) for path in (folder.manifest, folder.journal, folder.config, folder.eval_info))

    def _read_line(self, name: str, folder: RunFolder) -> Line:
        return run_line(folder)
