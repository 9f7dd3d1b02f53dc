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
from yardarm.recording.dataset_plan import DatasetPlan
from yardarm.recording.episode_recorder import EpisodeRecorder
from yardarm.recording.labels import ExpertLabels
from yardarm.recording.ledger import ledger_line, missing, open_dataset, open_ledger
from yardarm.recording.listener import RecordingListener
from yardarm.recording.source_episodes import SourceEpisode
from yardarm.replay import Playback, PlaybackResult
from yardarm.results import EpisodeKey, Journal

__all__ = ["RecordedDataset", "write_dataset"]

# How many episodes may be finished while the one that must be saved next is not. Each holds a draft, whose encoder
# takes some 40 MB for pictures of 480x480.
EARLY = 12

PlayedAgain = PlaybackResult[SourceEpisode, EpisodeRecorder]


@dataclass(frozen=True, slots=True)
class RecordedDataset:
    """A dataset that was recorded."""

    root: Path
    episodes: int
    frames: int
    tasks: int
    size: int
    """Bytes on disk."""
    skipped: int
    """Episodes that could not be recorded."""


def write_dataset(
    sources: Sequence[SourceEpisode], plan: DatasetPlan, root: Path, workers: int, listener: RecordingListener
) -> RecordedDataset:
    """Write what is missing of a dataset, in the order of its sources, whatever order they end in."""
    with open_dataset(root, plan) as writer, open_ledger(writer.meta) as ledger:
        left = missing(sources, writer.meta)
        listener.started(root, len(left), sum(source.record.steps for source in left), writer.num_episodes)
        dataset = _OpenDataset(plan, writer, ledger, listener)
        with contextlib.closing(_play_again(left, dataset, workers or usable_cores())) as results:
            saved = sum(dataset.save(result) for result in results)
        ledger.check_place()  # a dataset that was deleted meanwhile is not recorded
        meta = writer.meta
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    return RecordedDataset(root, meta.total_episodes, meta.total_frames, meta.total_tasks, size, len(left) - saved)


@dataclass(frozen=True, slots=True)
class _OpenDataset:
    """A dataset while it is written."""

    plan: DatasetPlan
    writer: DatasetWriter
    ledger: Journal
    listener: RecordingListener

    def recorder(self, source: SourceEpisode) -> EpisodeRecorder:
        """What watches an episode that is played again."""
        labels = ExpertLabels(source.episode) if self.plan.expert_labels else None
        return EpisodeRecorder(source, self.plan.inputs, self.writer.draft(), self.listener.seen, labels)

    def save(self, result: PlayedAgain) -> bool:
        """Save an episode, if it went as it did before; returns whether it did."""
        source, recorder = result.recorded, result.watcher
        if recorder is None:
            self.listener.skipped(source, f"it cannot be played again: {result.error}")
            return False
        if result.diverged_at is not None:
            recorder.discard()
            where = f"fingerprint after step {result.diverged_at}"
            self.listener.skipped(source, f"played again, it went another way than before ({where})")
            return False
        self.ledger.append(ledger_line(source))
        self.writer.save(recorder.draft)
        self.listener.saved(source)
        return True


def _play_again(sources: Sequence[SourceEpisode], dataset: _OpenDataset, workers: int) -> Generator[PlayedAgain]:
    """Play all of them on all workers; results come in the order of the sources."""
    if not sources:
        return
    size = min(workers, len(sources))
    with open_process_pool(sources[0].folder.worker_log, size, EngineOptions().timeout_s) as pool:
        if dataset.plan.renders:
            pool.choose_renderer([source.episode.task for source in sources])
        playback = Playback(sources, dataset.recorder, pool, ahead=size + EARLY)
        with contextlib.closing(iter(playback)) as results:
            yield from _in_order(sources, results)


def _in_order(sources: Sequence[SourceEpisode], results: Iterable[PlayedAgain]) -> Generator[PlayedAgain]:
    """One that comes early waits for those before it."""
    early: dict[EpisodeKey, PlayedAgain] = {}
    waiting = deque(source.record.key for source in sources)
    try:
        for result in results:
            early[result.recorded.record.key] = result
            while waiting and waiting[0] in early:
                yield early.pop(waiting.popleft())
    finally:
        for result in early.values():
            if result.watcher is not None:
                result.watcher.discard()
