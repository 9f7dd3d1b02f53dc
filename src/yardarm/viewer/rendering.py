"""Renders videos of episodes on demand, a few at once, and tracks the progress."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from yardarm.engine import EngineOptions
from yardarm.envs import ProcessPool
from yardarm.errors import YardarmError, one_line
from yardarm.machine import usable_cores
from yardarm.replay import Replay, replay_all

__all__ = ["Rendering", "RenderingJob"]


@dataclass(slots=True)
class RenderingJob:
    """A video being rendered: its progress and outcome."""

    frames: int
    started: bool = False
    """False while it waits for other videos."""
    done: int = 0
    finished: bool = False
    problem: str | None = None


class Rendering:
    """Renders videos, each only once, however many pages ask for it."""

    def __init__(self) -> None:
        self._jobs: dict[Path, RenderingJob] = {}
        self._lock = threading.Lock()
        self.step_aside: list[Callable[[], None]] = []
        """Called before a video is rendered that somebody waits for."""
        # Makes a wait for a worker end early: a simulator may take long to build.
        self._closed, self._closing = os.pipe()
        self._asked = 0.0
        self._threads = ThreadPoolExecutor(max(1, usable_cores()), thread_name_prefix="rendering")

    def start(self, replay: Replay) -> RenderingJob:
        """Start rendering a video, or return the job that already does; a failed one is retried."""
        self._asked = time.monotonic()
        for step_aside in self.step_aside:
            step_aside()
        with self._lock:
            job = self._jobs.get(replay.path)
            if job is None or (job.finished and not replay.path.is_file()):
                job = self._jobs[replay.path] = RenderingJob(replay.frames)
                self._threads.submit(self._make, replay, job)
        return job

    def is_busy_in(self, folder: Path) -> bool:
        """Whether a video is being rendered into a folder, or waits for it."""
        with self._lock:
            return any(not job.finished and path.is_relative_to(folder) for path, job in self._jobs.items())

    @property
    def idle_s(self) -> float:
        """For how long nobody has waited for a video; 0 while somebody does."""
        with self._lock:
            waiting = not all(job.finished for job in self._jobs.values())
        return 0.0 if waiting else time.monotonic() - self._asked

    def close(self) -> None:
        """Cancel all rendering, and wait until it has stopped."""
        os.write(self._closing, b"x")
        self._threads.shutdown(cancel_futures=True)

    def _make(self, replay: Replay, job: RenderingJob) -> None:
        def count() -> None:
            job.done += 1

        job.started = True
        try:
            pool = ProcessPool(1, time_limit_s=EngineOptions().timeout_s)
            try:
                pool.choose_renderer([replay.episode.task])
                results = list(replay_all([replay], pool, count, self._closed))
                job.problem = results[0].error if results else "the viewer was closed"
            finally:
                pool.close()
        except Exception as error:  # shown on the page; the viewer keeps running
            job.problem = str(error) if isinstance(error, YardarmError) else one_line(error)
        job.finished = True
