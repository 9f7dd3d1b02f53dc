"""The loop's end of the encoder.

    control loop ── add(tick) ──▶ queue ──▶ thread: spool ──▶ files ──▶ encoder's process ──▶ dataset
         │  microseconds             64 ticks at most        as many as it takes
         └─ look() ◀── what is saved, how much waits, faults ◀──────────────┘

The queue is full only if the disk takes no more; then, and only then, the loop waits.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from yardarm.control import Tick
from yardarm.errors import RobotFault, StorageFault, UsageError, YardarmError, one_line
from yardarm.recording.robot.job import DISCARD, FINISH, REMOVE, SAVE, TICK, EncoderJob, SavedEpisode
from yardarm.recording.robot.spool import SpoolSpec, SpoolWriter, remove_unended

__all__ = ["EncoderProcess"]

MOST_IN_MEMORY = 64
START_WITHIN_S = 240.0
MODULE = "yardarm.recording.robot.encoder"


class EncoderProcess:
    """Takes ticks, and turns them into episodes. Inside of a ``with`` block the dataset is open and locked."""

    def __init__(self, job: EncoderJob) -> None:
        self.job = replace(job, owner=os.getpid())
        self.episodes = 0
        """How many are in the dataset."""
        self._saved: list[SavedEpisode] = []
        self._added = self._encoded = 0
        self._is_finished = False
        self._fault: YardarmError | None = None
        self._answers = b""
        self._heard_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: queue.Queue[Tick | str] = queue.Queue(MOST_IN_MEMORY)
        self._thread = threading.Thread(target=self._work, name="spool", daemon=True)

    def __enter__(self) -> Self:
        # A session of its own: Ctrl-C is for the loop, and a killed loop does not take it along.
        words = [sys.executable, "-P", "-m", MODULE]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._send(json.dumps(self.job.to_json()))
            self._wait_for(lambda: self._is_ready, START_WITHIN_S)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process, which first saves what has ended; interrupted again, leave that to it alone."""
        assert self._process is not None
        assert self._process.stdin is not None
        if self._thread.is_alive():
            self._waiting.put(FINISH)
            self._thread.join()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if self._is_finished or kind is None or issubclass(kind, Exception):
            self._process.wait()
            remove_unended(self.job.root, self.job.owner)  # an encoder that was killed left it

    _is_ready = False

    @property
    def waiting(self) -> int:
        """How many ticks are not encoded yet."""
        return max(0, self._added - self._encoded)

    def add(self, tick: Tick) -> None:
        """Append a tick to the current episode."""
        self._raise()
        self._added += 1
        self._waiting.put(tick)

    def save_episode(self) -> None:
        """Have the current episode saved, in the background."""
        self._put(SAVE)

    def discard_episode(self) -> None:
        """Drop the current episode."""
        self._put(DISCARD)

    def remove_last(self) -> None:
        """Remove the episode that was saved last, or still waits to be."""
        self._put(REMOVE)

    def look(self) -> list[SavedEpisode]:
        """The episodes that were saved since the last look; raises if the encoder has failed."""
        self._hear(0.0)
        self._raise()
        return self.news()

    def news(self) -> list[SavedEpisode]:
        """The same, of what has been heard already."""
        saved, self._saved = self._saved, []
        return saved

    def wait_below(self, count: int) -> None:
        """Wait while so many ticks, or more, are not encoded yet."""
        if self.waiting >= count:
            self._wait_for(lambda: self.waiting < count, None)

    def finish(self, on_wait: Callable[[], Any] = lambda: None) -> None:
        """Wait until all is saved; `on_wait` is called now and then."""
        self._put(FINISH)
        self._wait_for(lambda: self._is_finished, None, on_wait)

    # The thread that writes the spool.

    def _work(self) -> None:
        spool = SpoolWriter(self.job.root, SpoolSpec(self.job.layout, self.job.task))
        takes_more = True
        try:
            while (item := self._waiting.get()) != FINISH:
                # A disk that takes nothing must not make `add` wait. An encoder that has failed changes nothing here.
                takes_more = takes_more and self._spool(spool, item)
        finally:
            spool.close()
        self._tell(FINISH)

    def _spool(self, spool: SpoolWriter, item: Tick | str) -> bool:
        """Write a tick or the end of an episode, then announce it; false if that failed."""
        try:
            if isinstance(item, Tick):
                spool.write(self.job.layout.pack(item))
            elif item == SAVE:
                spool.end_episode()
            elif item == DISCARD:
                spool.next_episode()
        except YardarmError as fault:
            self._fault = fault
        except OSError as error:
            self._fault = StorageFault(f"{self.job.root} cannot be written: {error.strerror or one_line(error)}")
        except Exception as error:  # a robot's value that is no number: without this thread, the loop would wait
            self._fault = RobotFault(f"a tick cannot be stored: {one_line(error)}")
        else:
            self._tell(TICK if isinstance(item, Tick) else item)
            return True
        return False

    def _tell(self, word: str) -> None:
        with contextlib.suppress(OSError):  # `_hear` finds out that it is gone, and why
            self._send(word)

    def _send(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    # What the encoder answers.

    def _wait_for(
        self, condition: Callable[[], bool], seconds: float | None, on_wait: Callable[[], Any] = lambda: None
    ) -> None:
        self._heard_s = time.monotonic()
        while not condition():
            self._raise()
            if seconds is not None and time.monotonic() - self._heard_s > seconds:
                raise StorageFault(f"the encoder has not answered for {seconds:g} s; is the disk stuck?")
            self._hear(0.2)
            on_wait()

    def _hear(self, seconds: float) -> None:
        """Take the answers that are there, or come within some time."""
        assert self._process is not None
        assert self._process.stdout is not None
        channel = self._process.stdout.fileno()
        while self._fault is None and select.select([channel], [], [], seconds)[0]:
            content = os.read(channel, 65536)
            if not content:
                if not self._is_finished:
                    self._fault = StorageFault(f"the encoder {_end_of(self._process)}")
                return
            self._heard_s = time.monotonic()
            *lines, self._answers = (self._answers + content).split(b"\n")
            self._take(json.loads(line) for line in lines)
            seconds = 0.0

    def _take(self, answers: Iterable[dict[str, Any]]) -> None:
        for answer in answers:
            match answer:
                case {"ready": episodes}:
                    self.episodes, self._is_ready = episodes, True
                case {"encoded": count}:
                    self._encoded = count
                case {"saved": saved}:
                    self._saved.append(SavedEpisode(**saved))
                    self.episodes += 1
                case {"removed": episodes}:
                    self.episodes = episodes
                case {"finished": _}:
                    self._is_finished = True
                case {"fault": message}:
                    self._fault = (StorageFault if self._is_ready else UsageError)(message)

    def _put(self, word: str) -> None:
        self._raise()
        self._waiting.put(word)

    def _raise(self) -> None:
        if self._fault is not None:
            raise self._fault


def _end_of(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended by itself (exit code {code})"
