"""Processes for baselines, and what processes use of the machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psutil

from yardarm.envs.processes import SINGLE_THREADED
from yardarm.envs.rendering import backends

CONTEXT = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def worker_environment() -> Iterator[None]:
    """Start baselines with the environment of the engine's workers: one thread each, and the same OpenGL."""
    settings = {**SINGLE_THREADED, "MUJOCO_GL": backends()[0]}
    earlier = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def in_processes(work: Callable[..., Any], arguments: Sequence[tuple]) -> list[Any]:
    """Call `work(barrier, *arguments)` in one process for each of the arguments, all at the same time."""
    barrier = CONTEXT.Barrier(len(arguments))
    children = []
    with worker_environment():
        for own in arguments:
            ours, theirs = CONTEXT.Pipe(duplex=False)
            process = CONTEXT.Process(target=_send_result, args=(theirs, work, barrier, own), daemon=True)
            process.start()
            theirs.close()
            children.append((process, ours))
    results = [ours.recv() for _, ours in children]
    for process, _ in children:
        process.join()
    return results


def _send_result(pipe, work: Callable[..., Any], barrier, arguments: tuple) -> None:
    pipe.send(work(barrier, *arguments))


def tree(pid: int) -> list[psutil.Process]:
    """A process and all that descend from it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


class Sampler(threading.Thread):
    """Calls a function now and then until it is stopped; processes that end meanwhile are no error."""

    def __init__(self, sample: Callable[[], None], every_s: float) -> None:
        super().__init__(daemon=True)
        self._sample = sample
        self._every_s = every_s
        self._stop_asked = threading.Event()

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop_asked.set()
        self.join()

    def run(self) -> None:
        while not self._stop_asked.wait(self._every_s):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
                self._sample()


class CpuAccount:
    """CPU-seconds of this process and its descendants, and of everything else on the machine meanwhile."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, float], float] = {}
        self._names: dict[tuple[int, float], str] = {}
        self._before = self._of(psutil.Process())
        self._busy_before = _machine_busy_s()
        self._sampler = Sampler(self._sample, every_s=0.2)

    def __enter__(self) -> CpuAccount:
        self._sampler.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.__exit__()
        self.main_s = self._of(psutil.Process()) - self._before
        self.children_s = sum(self._used.values())
        self.others_s = max(0.0, _machine_busy_s() - self._busy_before - self.main_s - self.children_s)

    def _sample(self) -> None:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._used[process.pid, process.create_time()] = self._of(process)

    @staticmethod
    def _of(process: psutil.Process) -> float:
        times = process.cpu_times()
        return times.user + times.system


def _machine_busy_s() -> float:
    times = psutil.cpu_times()
    return times.user + times.nice + times.system


def pss(pid: int) -> int:
    """Bytes of memory, shared pages split between those who share them."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def rss(pid: int) -> int:
    """Bytes of memory, shared pages counted in full."""
    return psutil.Process(pid).memory_info().rss


class PeakMemory:
    """The largest sum of PSS over a process and its descendants, and the largest worker's RSS and PSS."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.sum_pss = self.worker_rss = self.worker_pss = 0
        self.main_rss = 0

    def sample(self) -> None:
        sizes = {}
        for process in tree(self._pid):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError, StopIteration, psutil.NoSuchProcess):
                sizes[process.pid] = (pss(process.pid), rss(process.pid))
        self.sum_pss = max(self.sum_pss, sum(own for own, _ in sizes.values()))
        for worker in self._workers():
            if worker in sizes:
                self.worker_pss = max(self.worker_pss, sizes[worker][0])
                self.worker_rss = max(self.worker_rss, sizes[worker][1])

    def _workers(self) -> list[int]:
        """Workers are the children of launchers, which are the children of the process that evaluates."""
        launchers = psutil.Process(self._pid).children()
        return [worker.pid for launcher in launchers for worker in launcher.children()]


def in_fresh_process(work: Callable[..., Any], *arguments: Any, every_s: float = 0.05) -> tuple[Any, PeakMemory]:
    """Call `work` in a new interpreter, and watch its memory from here."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_send_plain_result, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    peak = PeakMemory(process.pid)
    with Sampler(peak.sample, every_s):
        result = ours.recv()
    process.join()
    return result, peak


def _send_plain_result(pipe, work: Callable[..., Any], arguments: tuple) -> None:
    pipe.send(work(*arguments))


def seconds_since(started: float) -> float:
    return time.perf_counter() - started
