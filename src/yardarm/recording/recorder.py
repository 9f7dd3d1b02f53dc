"""Plays a run's episodes again, and writes what is seen as a dataset."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from yardarm.datasets import DatasetWriter
from yardarm.engine import EngineOptions, open_process_pool
from yardarm.machine import usable_cores
from yardarm.recording.ledger import ledger_line, missing, open_dataset, open_ledger
from yardarm.recording.listener import RecordingListener
from yardarm.recording.recipe import Recipe
from yardarm.recording.scribe import Scribe
from yardarm.recording.takes import Take
from yardarm.replay import Ending, Playback
from yardarm.results import EpisodeKey, Journal

__all__ = ["Recording", "record"]

# So many episodes may be finished while the one that must be saved next is not. Each holds a draft, whose encoder takes
# some 40 MB for pictures of 480x480.
EARLY = 12

WatchedTake = Ending[Take, Scribe]


@dataclass(frozen=True, slots=True)
class Recording:
    """A dataset that was recorded."""

    root: Path
    episodes: int
    frames: int
    tasks: int
    size: int
    """Bytes on disk."""
    skipped: int
    """Episodes that could not be recorded."""


def record(
    takes: Sequence[Take], recipe: Recipe, root: Path, workers: int = 0, listener: RecordingListener | None = None
) -> Recording:
    """Write what is missing of a dataset, in the order of the takes, whatever order they end in."""
    listener = listener or RecordingListener()
    with open_dataset(root, recipe) as writer, open_ledger(writer.meta) as ledger:
        left = missing(takes, writer.meta)
        listener.started(root, len(left), sum(take.record.steps for take in left), writer.num_episodes)
        desk = _Desk(recipe, writer, ledger, listener)
        with contextlib.closing(_played_again(left, desk, workers or usable_cores())) as endings:
            kept = sum(desk.keep(ending) for ending in endings)
        ledger.check_place()  # a dataset that was deleted meanwhile is not recorded
        meta = writer.meta
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    return Recording(root, meta.total_episodes, meta.total_frames, meta.total_tasks, size, len(left) - kept)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where a dataset is written."""

    recipe: Recipe
    writer: DatasetWriter
    ledger: Journal
    listener: RecordingListener

    def watch(self, take: Take) -> Scribe:
        """Have somebody watch an episode."""
        return Scribe(take, self.recipe.inputs, self.writer.draft(), self.listener.seen)

    def keep(self, ending: WatchedTake) -> bool:
        """Save an episode, if it went as it did before; returns whether it did."""
        take, scribe = ending.item, ending.watcher
        if scribe is None:
            self.listener.skipped(take, f"it cannot be played again: {ending.error}")
            return False
        if ending.diverged_at is not None:
            scribe.leave()
            where = f"fingerprint after step {ending.diverged_at}"
            self.listener.skipped(take, f"played again, it went another way than before ({where})")
            return False
        self.ledger.append(ledger_line(take))
        self.writer.save(scribe.draft)
        self.listener.saved(take)
        return True


def _played_again(takes: Sequence[Take], desk: _Desk, workers: int) -> Generator[WatchedTake]:
    """Play all of them on all workers; endings come in the order of the takes."""
    if not takes:
        return
    size = min(workers, len(takes))
    with open_process_pool(takes[0].folder.worker_log, size, EngineOptions().timeout_s) as pool:
        if desk.recipe.renders:
            pool.choose_renderer([take.episode.task for take in takes])
        playback = Playback(takes, desk.watch, pool, ahead=size + EARLY)
        with contextlib.closing(iter(playback)) as endings:
            yield from _in_order(takes, endings)


def _in_order(takes: Sequence[Take], endings: Iterable[WatchedTake]) -> Generator[WatchedTake]:
    """One that comes early waits for those before it."""
    early: dict[EpisodeKey, WatchedTake] = {}
    waiting = deque(take.record.key for take in takes)
    try:
        for ending in endings:
            early[ending.item.record.key] = ending
            while waiting and waiting[0] in early:
                yield early.pop(waiting.popleft())
    finally:
        for ending in early.values():
            if ending.watcher is not None:
                ending.watcher.leave()
