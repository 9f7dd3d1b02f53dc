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
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from yardarm.datasets import DatasetWriter, EpisodeDraft
from yardarm.errors import YardarmError, one_line
from yardarm.files import is_locked
from yardarm.recording.robot.job import DISCARD, FINISH, IMAGES, REMOVE, SAVE, TICK, EncoderJob
from yardarm.recording.robot.spool import SpoolReader

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
        self._spool = SpoolReader(job.root, job.layout.size, job.owner)
        self._draft: EpisodeDraft | None = None
        self._rows: list[np.ndarray] = []
        self._encoded = 0
        self._told_s = 0.0

    def run(self, words: Iterator[str]) -> None:
        """Do what the words say, until there are none."""
        acts = {TICK: self._add, SAVE: self._save, DISCARD: self._drop, REMOVE: self._remove}
        for word in words:
            if word == FINISH:
                self._tell(finished=True)
                return
            acts[word]()
        self._drop()

    def _add(self) -> None:
        row, pictures = self._job.layout.unpack(self._spool.read())
        if self._draft is None:
            self._draft = self._writer.draft()
        frame: dict[str, Any] = {f"{IMAGES}{name}": picture for name, picture in pictures.items()}
        if self._job.layout.state:
            frame["observation.state"] = row["state"]
        self._draft.add_frame({**frame, "action": row["action"], "task": self._job.task})
        self._rows.append(row)
        self._encoded += 1
        if self._encoded % TELL_EVERY == 0 or time.monotonic() - self._told_s > TELL_EVERY_S:
            self._told_s = time.monotonic()
            self._tell(encoded=self._encoded)

    def _save(self) -> None:
        draft, rows, self._draft, self._rows = self._draft, self._rows, None, []
        if draft is None:
            return
        before = _size(self._writer)
        episode = self._writer.save(draft, self._job.layout.measured(rows))
        grown = _size(self._writer) - before
        self._tell(encoded=self._encoded)
        self._tell(saved={"index": episode.index, "frames": episode.length, "size": grown})

    def _remove(self) -> None:
        self._writer.remove_last()
        self._tell(removed=self._writer.num_episodes)

    def _drop(self) -> None:
        if self._draft is not None:
            self._draft.close()
        self._draft, self._rows = None, []
        self._tell(encoded=self._encoded)

    def close(self) -> None:
        """Leave nothing that is not part of the dataset."""
        if self._draft is not None:
            self._draft.close()
        self._spool.close()


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
                tell(ready=writer.num_episodes)
                encoding.run(_words())
            finally:
                encoding.close()
    except YardarmError as error:
        tell(fault=str(error))
    except Exception as error:
        tell(fault=one_line(error))


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
