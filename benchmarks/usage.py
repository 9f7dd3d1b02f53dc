"""Measures the CPU time and memory of processes."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
GONE = (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError)


class Sampler:
    """Calls a function now and then, in a thread; ignores processes that have ended."""

    def __init__(self, sample: Callable[[], None], every_s: float) -> None:
        self._sample = sample
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            with contextlib.suppress(*GONE):
                self._sample()


class CpuAccount:
    """CPU-seconds of this process, of its descendants, and of everything else on the machine in the same time."""

    def __init__(self) -> None:
        self._descendants: dict[tuple[int, str], float] = {}
        self._sampler = Sampler(self._sample, every_s=0.25)

    def __enter__(self) -> CpuAccount:
        with contextlib.suppress(*GONE):
            self._sample()  # for processes that already run, only their usage from now on counts
        self._before_s = sum(self._descendants.values())
        self._main_before = time.process_time()
        self._machine_before = _machine_cpu_s()
        self._sampler.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.__exit__()
        self.main_s = time.process_time() - self._main_before
        self.descendants_s = sum(self._descendants.values()) - self._before_s
        machine_s = _machine_cpu_s() - self._machine_before
        self.others_s = max(0.0, machine_s - self.main_s - self.descendants_s)

    def _sample(self) -> None:
        for own in _processes(_child_pids(os.getpid())):
            self._descendants[own.pid, own.start] = own.cpu_s


@dataclass(frozen=True, slots=True)
class TreeSample:
    """What a process and its descendants have used until a moment of the monotonic clock."""

    time_s: float
    cpu_s: float
    rss: int


class TreeUsage:
    """Watches a process and all its descendants, also those that end meanwhile.

    RSS counts pages that processes share for each of them. PSS would not, but reading it stops the process.
    """

    def __init__(self, pid: int, every_s: float = 0.25) -> None:
        self.samples: list[TreeSample] = []
        self._pid = pid
        self._cpu: dict[tuple[int, str], float] = {}
        self._sampler = Sampler(self._sample, every_s)

    def __enter__(self) -> TreeUsage:
        self._sampler.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.__exit__()

    def cpu_since(self, time_s: float) -> float:
        """CPU-seconds from then on."""
        before = [sample.cpu_s for sample in self.samples if sample.time_s <= time_s]
        return sum(self._cpu.values()) - (before[-1] if before else 0.0)

    @property
    def peak_rss(self) -> int:
        """The most that all of them had at once, in bytes."""
        return max((sample.rss for sample in self.samples), default=0)

    def _sample(self) -> None:
        alive = list(_processes([self._pid]))
        for own in alive:
            self._cpu[own.pid, own.start] = own.cpu_s
        cpu_s, rss = sum(self._cpu.values()), sum(own.rss for own in alive)
        self.samples.append(TreeSample(time.monotonic(), cpu_s, rss))


class PeakMemory:
    """The peak memory of an evaluating process and all its descendants, in bytes.

    PSS divides shared pages among the processes that share them, so it can be summed. RSS counts them in full.
    """

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.all_pss = 0
        self.worker_pss = 0
        self.worker_rss = 0

    def sample(self) -> None:
        """Read all processes once."""
        # Workers are the children of launchers, which are the children of the process that evaluates.
        launchers = self._process.children()
        workers = [worker for launcher in launchers for worker in _children(launcher)]
        total = sum(pss(process) for process in (self._process, *launchers))
        for worker in workers:
            own = pss(worker)
            total += own
            self.worker_pss = max(self.worker_pss, own)
            with contextlib.suppress(*GONE):
                self.worker_rss = max(self.worker_rss, worker.memory_info().rss)
        self.all_pss = max(self.all_pss, total)


def pss(process: psutil.Process) -> int:
    """The PSS of a process in bytes; 0 if it has ended."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:")), 0)
    except GONE:
        return 0


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []


def _child_pids(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    start: str
    cpu_s: float
    rss: int


def _processes(pids: list[int]) -> Iterator[_Process]:
    """These processes and their descendants, as they are now."""
    # Reads a few small files: psutil would read the files of every process on the machine, and hold Python's lock,
    # for which the measured code would wait.
    while pids:
        pid = pids.pop()
        with contextlib.suppress(*GONE):
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            user, system, start, pages = words[11], words[12], words[19], words[21]
            yield _Process(pid, start, (int(user) + int(system)) / CLOCK_TICKS, int(pages) * PAGE)
            pids += _child_pids(pid)


def _machine_cpu_s() -> float:
    times = psutil.cpu_times()
    return times.user + times.nice + times.system
