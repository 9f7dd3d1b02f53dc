"""The runs below a folder: found by walking it, summed up, and read again only when their files have changed."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from yardarm.comparison import read_runs
from yardarm.errors import UsageError
from yardarm.evaluation import StoredRun
from yardarm.results import Counts, RunFolder, StoredResult, read_result
from yardarm.stats import Interval

__all__ = ["Catalogue"]

# A folder with two of these is a run, even if one is lost.
SIGNS = ("manifest.json", "config.yaml", "episodes.jsonl")
# One of LeRobot's has this alone.
LEROBOTS = "eval_info.json"
# What lies inside of a run, and is no run.
INSIDE = ("actions", "videos", "wandb")
# Runs that are kept in memory as a whole; of the others only a line.
KEPT = 8

Stamp = tuple[tuple[int, int] | None, ...]


class Catalogue:
    """A folder of runs. A run is named by its path inside of it."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"there is no folder {root}; `yardarm view` takes a folder of runs, or a run")
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._lines: dict[str, tuple[Stamp, dict[str, Any]]] = {}
        self._results: OrderedDict[str, tuple[Stamp, StoredResult]] = OrderedDict()

    def folder(self, name: str) -> RunFolder:
        """The run of this name; nothing outside of the folder has one."""
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root):
            raise UsageError(f"'{name}' is outside of the folder that is viewed")
        if not path.is_dir() or not _is_run(os.listdir(path)):
            raise UsageError(f"there is no run '{name}'")
        return RunFolder(path)

    def has(self, file: Path) -> bool:
        """Whether a file is there, and inside of the folder, wherever links lead."""
        return file.is_file() and file.resolve().is_relative_to(self.root)

    def result(self, name: str) -> StoredResult:
        """A run's results, as they are now."""
        folder = self.folder(name)
        stamp = _stamp(folder)
        with self._lock:
            known = self._results.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        stored = read_result(folder)
        with self._lock:
            self._results[name] = (stamp, stored)
            self._results.move_to_end(name)
            while len(self._results) > KEPT:
                self._results.popitem(last=False)
        return stored

    def stored_run(self, name: str, trust_remote_code: bool) -> StoredRun:
        """A run with the means to play its episodes again."""
        return StoredRun(self.folder(name), trust_remote_code)

    def lines(self) -> list[dict[str, Any]]:
        """A line about each run, newest first."""
        found = dict(self._line(name, folder) for name, folder in self._runs())
        with self._lock:
            self._lines = {name: self._lines[name] for name in found}
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
        # A run that goes on may be killed, and then its files do not change.
        if known is None or known[0] != stamp or known[1]["status"] == "running":
            known = (stamp, _summed_up(name, folder))
            with self._lock:
                self._lines[name] = known
        return name, known[1]

    def _runs(self) -> Iterator[tuple[str, RunFolder]]:
        for path, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            if _is_run(files):
                folders[:] = [name for name in folders if name not in INSIDE]
                yield os.path.relpath(path, self.root), RunFolder(Path(path))


def _is_run(files: Collection[str]) -> bool:
    return LEROBOTS in files or sum(sign in files for sign in SIGNS) >= 2


def _stamp(folder: RunFolder) -> Stamp:
    """What changes when a run does."""
    return tuple(_stamp_of(path) for path in (folder.manifest, folder.journal, folder.config, folder.eval_info))


def _stamp_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _summed_up(name: str, folder: RunFolder) -> dict[str, Any]:
    """What the list says of a run; of a damaged one, what is wrong with it."""
    try:
        if folder.eval_info.exists() and not any((folder.path / sign).exists() for sign in SIGNS):
            return _of_lerobot(name, folder)
        return _of_yardarm(name, read_result(folder))
    except UsageError as error:
        return {"name": name, "status": "damaged", "problem": str(error)}


def _of_lerobot(name: str, folder: RunFolder) -> dict[str, Any]:
    """A run of LeRobot's has outcomes, which can be compared, and nothing that could be shown beside."""
    (run,) = read_runs([folder.path], allow_unfinished=True)
    outcomes = [outcome.success for outcome in run.outcomes.values()]
    counts = Counts(outcomes.count(True), len(outcomes) - outcomes.count(None), outcomes.count(None))
    tasks = [task.partition("/") for task in run.tasks]
    return {
        "name": name,
        "status": "LeRobot",
        "policy": "",
        "benchmarks": sorted({benchmark for benchmark, _, _ in tasks}),
        "tasks": sorted({task for _, _, task in tasks}),
        "planned": len(outcomes),
        **_rate(counts, counts.interval),
    }


def _of_yardarm(name: str, stored: StoredResult) -> dict[str, Any]:
    result = stored.result
    counts = result.counts
    interval = result.uncertainty.of_tasks([Counts.of(records).of_task for records in result.by_task()])
    return {
        "name": name,
        "status": stored.status,
        "policy": stored.manifest["plan"].get("policy", ""),
        "benchmarks": sorted({task.task.benchmark for task in result.tasks}),
        "tasks": sorted({task.task.name for task in result.tasks}),
        "planned": result.planned,
        "started": stored.manifest.get("started"),
        "wall_s": result.wall_s,
        **_rate(counts, interval),
    }


def _rate(counts: Counts, interval: Interval) -> dict[str, Any]:
    return {
        "rate": counts.rate,
        "successes": counts.successes,
        "episodes": counts.episodes,
        "errors": counts.errors,
        "low": interval.low,
        "high": interval.high,
    }
