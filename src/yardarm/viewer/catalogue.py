"""The runs below a folder: found by walking it, summed up, and read again only when their files have changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, one_line
from yardarm.evaluation import StoredRun
from yardarm.results import RunFolder, StoredResult, is_going_on, read_result
from yardarm.viewer.memory import Memory, Stamp, stamp_of
from yardarm.viewer.run_line import run_line

__all__ = ["Catalogue"]

# A folder with two of these is a run, even if one is lost.
SIGNS = ("manifest.json", "config.yaml", "episodes.jsonl")
# One of LeRobot's has this alone.
LEROBOTS = "eval_info.json"
# What lies inside of a run, and is no run.
INSIDE = ("actions", "videos", "wandb")


class Catalogue:
    """A folder of runs. A run is named by its path inside of it."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"there is no folder {root}; `yardarm view` takes a folder of runs, or a run")
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._lines: dict[str, tuple[Stamp, dict[str, Any]]] = {}
        self._results: Memory[StoredResult] = Memory()
        self._stored_runs: Memory[StoredRun] = Memory()

    def folder(self, name: str) -> RunFolder:
        """The run of this name; nothing outside of the folder has one."""
        try:
            path = (self.root / name).resolve()
        except ValueError:
            raise UsageError("that is no name of a run") from None
        if not self.contains(path):
            raise UsageError(f"'{name}' is outside of the folder that is viewed")
        if not path.is_dir() or not _is_run(os.listdir(path)):
            raise UsageError(f"there is no run '{name}'")
        self._check_links(path)
        return RunFolder(path)

    def contains(self, path: Path) -> bool:
        """Whether a path lies inside of the folder, wherever links lead."""
        return path.resolve().is_relative_to(self.root)

    def _check_links(self, path: Path) -> None:
        for entry in os.scandir(path):
            if entry.is_symlink() and not self.contains(Path(entry)):
                raise UsageError(f"{entry.name} is a link that leads outside of the folder that is viewed")

    def result(self, name: str) -> StoredResult:
        """A run's results, as they are now."""
        folder = self.folder(name)
        return self._results.get(name, _stamp(folder), lambda: read_result(folder))

    def stored_run(self, name: str, trust_remote_code: bool) -> StoredRun:
        """A run with the means to play its episodes again."""
        folder = self.folder(name)
        return self._stored_runs.get(name, _stamp(folder), lambda: StoredRun(folder, trust_remote_code))

    def lines(self) -> list[dict[str, Any]]:
        """A line about each run, newest first."""
        found = dict(self._line(name, folder) for name, folder in self._runs())
        with self._lock:
            self._lines = {name: known for name, known in self._lines.items() if name in found}
        return sorted(found.values(), key=lambda line: str(line.get("started") or ""), reverse=True)

    def brought_up_to_date(self, lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same lines, of which those of runs that are going on are read again; that costs less than a walk."""
        return [self._read_again(line) if line["status"] == "running" else line for line in lines]

    def _read_again(self, line: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.line(line["name"])
        except UsageError:
            return line  # it has gone, which the next walk finds

    def line(self, name: str) -> dict[str, Any]:
        """A line about one run."""
        return self._line(name, self.folder(name))[1]

    def _line(self, name: str, folder: RunFolder) -> tuple[str, dict[str, Any]]:
        stamp = _stamp(folder)
        with self._lock:
            known = self._lines.get(name)
        if known is None or known[0] != stamp:
            known = (stamp, self._summed_up(name, folder))
        elif known[1]["status"] == "running" and not is_going_on(folder):
            # It was killed, and so its files do not change.
            known = (stamp, {**known[1], "status": "interrupted"})
        with self._lock:
            self._lines[name] = known
        return name, known[1]

    def _summed_up(self, name: str, folder: RunFolder) -> dict[str, Any]:
        """What the list says of a run; of a damaged one, what is wrong with it."""
        try:
            self._check_links(folder.path)
            return run_line(name, folder)
        except Exception as error:  # whatever is wrong with one run, the list shows the others
            said = str(error) if isinstance(error, UsageError) else one_line(error)
            return {"name": name, "status": "damaged", "problem": said}

    def _runs(self) -> Iterator[tuple[str, RunFolder]]:
        for path, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            if _is_run(files):
                folders[:] = [name for name in folders if name not in INSIDE]
                name = os.path.relpath(path, self.root)
                if name.isprintable():  # else no address could name it
                    yield name, RunFolder(Path(path))


def _is_run(files: Collection[str]) -> bool:
    return LEROBOTS in files or sum(sign in files for sign in SIGNS) >= 2


def _stamp(folder: RunFolder) -> Stamp:
    """What changes when a run does."""
    return tuple(stamp_of(path) for path in (folder.manifest, folder.journal, folder.config, folder.eval_info))
