"""The process that encodes and saves: ``python -m yardarm.recording.robot.encoder``.

It shares no interpreter with the control loop, so nothing that it does makes a tick late, and it survives its death:
when the lines from the loop end, it saves the episodes that had ended, drops the one that had not, and leaves.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from yardarm.datasets import DatasetWriter, EpisodeDraft
from yardarm.errors import StorageFault, YardarmError, in_words
from yardarm.files import is_locked
from yardarm.recording.robot.job import DISCARD, FINISH, IMAGES, REMOVE, SAVE, TICK, EncoderJob
from yardarm.recording.robot.spool import EpisodeReader, SpooledEpisode, SpoolSpec, remove_unended, spooled
from yardarm.recording.robot.tick_layout import TickLayout

__all__ = ["main"]

# Behind the control loop, where both want the same core.
NICE = 5
# How often the loop hears how far this is: after some time, or after some ticks, since the loop may wait for them.
TELL_EVERY_S = 0.2
TELL_EVERY = 32
# A recorder that was killed leaves an encoder that still saves what had ended.
WAIT_FOR_LOCK_S = 120.0
Tell = Callable[..., None]


class _Encoding:
    """A dataset while it grows."""

    def __init__(self, job: EncoderJob, writer: DatasetWriter, tell: Tell) -> None:
        self._job, self._writer, self._tell = job, writer, tell
        self._reader = self._reader_of(0)
        self._draft: EpisodeDraft | None = None
        self._rows: list[np.ndarray] = []
        self._encoded = 0
        self._told_s = 0.0

    def finish_earlier(self) -> None:
        """Save what had ended when an earlier recording failed, and remove what had not."""
        for episode in spooled(self._job.root):
            if episode.place is not None and episode.place < self._writer.num_episodes:  # it is in the dataset
                episode.remove()
            elif episode.has_ended:
                self._finish(episode)
        remove_unended(self._job.root)

    def run(self, words: Iterator[str]) -> None:
        """Do what the words say, until there are none."""
        acts = {TICK: self._take, SAVE: self._save, DISCARD: self._discard, REMOVE: self._remove}
        for word in words:
            if word == FINISH:
                self._tell(finished=True)
                return
            acts[word]()
        self._discard()

    def _take(self) -> None:
        if self._draft is None:
            self._draft = self._writer.draft(self._reader.episode.name)
        row, pictures = self._job.layout.unpack(self._reader.read())
        self._add(SpoolSpec(self._job.layout, self._job.task), row, pictures)
        if self._reader.is_at_cut:
            self._draft.cut()
        self._reader.remove_before(self._draft.settled)
        self._encoded += 1
        self._tell_now_and_then(encoded=self._encoded)

    def _add(self, spec: SpoolSpec, row: np.ndarray, pictures: Mapping[str, np.ndarray]) -> None:
        assert self._draft is not None
        frame: dict[str, Any] = {f"{IMAGES}{name}": picture for name, picture in pictures.items()}
        if spec.layout.state:
            frame["observation.state"] = row["state"]
        self._draft.add_frame({**frame, "action": row["action"], "task": spec.task})
        self._rows.append(row)

    def _save(self) -> None:
        if self._draft is None:
            return
        self._put_into_dataset(self._reader.episode, self._job.layout)
        self._reader = self._reader_of(self._reader.episode.number + 1)

    def _put_into_dataset(self, episode: SpooledEpisode, layout: TickLayout) -> None:
        """Save the draft; if that fails, the episode waits for another attempt."""
        assert self._draft is not None
        before = _size(self._writer)
        episode.save_as(self._writer.num_episodes)
        try:
            saved = self._writer.save(self._draft, layout.measured(self._rows))
        except BaseException:
            episode.end()
            raise
        episode.remove()
        self._draft, self._rows = None, []
        self._tell(encoded=self._encoded)
        self._tell(saved={"index": saved.index, "frames": saved.length, "size": _size(self._writer) - before})

    def _finish(self, episode: SpooledEpisode) -> None:
        """Encode and save an episode whose encoder has failed."""
        try:
            self._add_all(episode, spec := episode.spec())
            self._put_into_dataset(episode, spec.layout)
        except (OSError, ValueError, KeyError, YardarmError) as error:
            raise StorageFault(
                f"an episode of an earlier recording cannot be saved: {in_words(error)}; free some space and try it "
                f"again, or give it up: remove {episode.root}/{episode.name}*"
            ) from error

    def _add_all(self, episode: SpooledEpisode, spec: SpoolSpec) -> None:
        """Add an episode's ticks: of those that are in a piece of its videos, only the numbers are needed."""
        self._draft = self._writer.draft(episode.name)
        kept, content, size = self._draft.settled, episode.rows_file.read_bytes(), spec.layout.numbers.itemsize
        rows = np.frombuffer(content, spec.layout.numbers, len(content) // size)
        reader = EpisodeReader(episode, spec.layout.size, kept)
        for place, row in enumerate(rows):
            self._add(spec, row, {} if place < kept else spec.layout.unpack(reader.read())[1])
            self._tell_now_and_then(finishing=place)
        reader.close()

    def _remove(self) -> None:
        self._writer.remove_last()
        self._tell(removed=self._writer.num_episodes)

    def _discard(self) -> None:
        if self._draft is not None:
            self._drop()
            self._reader = self._reader_of(self._reader.episode.number + 1)
        self._tell(encoded=self._encoded)

    def _drop(self) -> None:
        if self._draft is not None:
            self._draft.close()
        self._draft, self._rows = None, []
        self._reader.close()
        if not self._reader.episode.has_ended:
            self._reader.episode.remove()

    def close(self) -> None:
        """Leave nothing but the dataset, and episodes that have ended."""
        self._drop()

    def _reader_of(self, number: int) -> EpisodeReader:
        return EpisodeReader(SpooledEpisode(self._job.root, self._job.owner, number), self._job.layout.size)

    def _tell_now_and_then(self, **what: int) -> None:
        (count,) = what.values()
        if count % TELL_EVERY == 0 or time.monotonic() - self._told_s > TELL_EVERY_S:
            self._told_s = time.monotonic()
            self._tell(**what)


def main() -> None:
    """Encode what the standard input announces; a fault is told in one line."""
    os.nice(NICE)
    # Codecs print to the standard output, too, which is not for them.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(**what: Any) -> None:
        with contextlib.suppress(OSError):  # the loop's process is gone, and the episodes are saved all the same
            answers.write(json.dumps(what) + "\n")

    job = EncoderJob.from_json(json.loads(sys.stdin.readline()))
    try:
        with _open(job) as writer:
            encoding = _Encoding(job, writer, tell)
            try:
                encoding.finish_earlier()
                tell(ready=writer.num_episodes)
                encoding.run(_words())
            finally:
                encoding.close()
    except Exception as error:
        tell(fault=in_words(error))


def _open(job: EncoderJob) -> DatasetWriter:
    """Open the dataset; if another process still saves to it, wait for that."""
    if not job.resume:
        return DatasetWriter.create(job.root, job.info, job.encoding)
    until = time.monotonic() + WAIT_FOR_LOCK_S
    while is_locked(job.root) and time.monotonic() < until:
        time.sleep(0.1)
    return DatasetWriter.resume(job.root, job.encoding)


def _words() -> Iterator[str]:
    """The lines of the standard input. A thread takes them at once, so that whoever writes them never waits."""
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def take() -> None:
        for line in sys.stdin:
            waiting.put(line.strip())
        waiting.put(None)

    threading.Thread(target=take, name="lines", daemon=True).start()
    while (word := waiting.get()) is not None:
        yield word


def _size(writer: DatasetWriter) -> int:
    return sum(path.stat().st_size for path in writer.root.rglob("*") if path.is_file() and path.name[0] != ".")


if __name__ == "__main__":
    main()
