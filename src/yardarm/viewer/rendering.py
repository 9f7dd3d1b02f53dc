"""Renders episodes when they are first asked for, a few at a time, and says how far that is."""

from __future__ import annotations

import os
import threading
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
    """A video that is being made: how many of its frames there are, and how it ended."""

    frames: int
    started: bool = False
    """Others may have to be finished before."""
    done: int = 0
    finished: bool = False
    problem: str | None = None


class Rendering:
    """Videos in the making. The same one is made once, however many ask for it."""

    def __init__(self) -> None:
        self._jobs: dict[Path, RenderingJob] = {}
        self._lock = threading.Lock()
        # Waiting for a worker ends when this can be read: a simulator may take long to build.
        self._closed, self._closing = os.pipe()
        self._threads = ThreadPoolExecutor(max(1, usable_cores()), thread_name_prefix="rendering")

    def start(self, replay: Replay) -> RenderingJob:
        """Begin to make a video, or join those who wait for it; one that failed is tried again."""
        with self._lock:
            job = self._jobs.get(replay.path)
            if job is None or (job.finished and not replay.path.is_file()):
                job = self._jobs[replay.path] = RenderingJob(replay.frames)
                self._threads.submit(self._make, replay, job)
        return job

    def close(self) -> None:
        """Give up what is being made, and wait until it is."""
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
        except Exception as error:  # whatever it is, it is said on the page, and the viewer goes on
            job.problem = str(error) if isinstance(error, YardarmError) else one_line(error)
        job.finished = True
