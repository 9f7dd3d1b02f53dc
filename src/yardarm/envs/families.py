"""Ends a launcher's workers, and all processes that their simulators started.

On Linux, a process can ask for a signal when its parent dies, and can adopt its orphaned descendants. On other
systems, only a worker's process group is known.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

__all__ = ["Family", "adopt_orphans", "die_with_parent"]

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# A process that has closed its connection has usually ended within a millisecond.
ENDS_WITHIN_S = 0.5
# The main process waits for at most ten seconds.
ALL_END_WITHIN_S = 5.0
LOOK_EVERY_S = 0.002
LINUX = sys.platform == "linux"


def die_with_parent(parent: int, how: signal.Signals) -> None:
    """Ask Linux for a signal when the parent dies, so that this process does not outlive it."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants: a daemon orphans itself on purpose."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


class Family:
    """The workers that this process forked, and the processes that ended workers left behind."""

    def __init__(self) -> None:
        self._workers: set[int] = set()
        self._killed: set[int] = set()
        """Workers that we killed but have not reaped yet."""
        self._codes: dict[int, int | None] = {}
        """Exit codes of workers that ended by themselves; None if other code reaped them."""
        self._own = _children()
        """Processes that a module started while it was imported: they serve all workers."""

    def add(self, worker: int) -> None:
        """Manage a worker."""
        self._workers.add(worker)

    def kill(self, worker: int) -> None:
        """Kill a worker and what its simulator started; daemons are killed when the worker is reaped."""
        self._codes.pop(worker, None)
        if worker in self._workers:  # not reaped yet, so the process id is still this worker's
            os.kill(worker, signal.SIGKILL)
            _kill_group(worker)
            self._workers.remove(worker)
            self._killed.add(worker)

    def reap(self) -> None:
        """Find ended workers, and kill the processes that they left behind."""
        ended = [worker for worker in (*self._workers, *self._killed) if self._reap(worker)]
        if ended:
            self._end_orphans(ENDS_WITHIN_S)

    def how_ended(self, worker: int) -> str:
        """How a worker that has closed its connection ended."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while worker in self._workers and time.monotonic() < deadline:
            self.reap()
            time.sleep(LOOK_EVERY_S)
        if worker in self._workers:
            self.kill(worker)
            return "it closed its connection and was killed"
        return _described(self._codes.pop(worker, None))

    def end(self) -> None:
        """Kill all workers, and wait until they have ended."""
        deadline = time.monotonic() + ALL_END_WITHIN_S
        for worker in list(self._workers):
            self.kill(worker)
        while self._killed and time.monotonic() < deadline:
            self.reap()
            time.sleep(LOOK_EVERY_S)
        self._own.clear()
        self._end_orphans(ALL_END_WITHIN_S)

    def _reap(self, worker: int) -> bool:
        try:
            pid, status = os.waitpid(worker, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:  # an imported module also waits for children, and was faster
            pid, code = worker, None
        if not pid:
            return False
        _kill_group(worker)
        if worker in self._workers:
            self._codes[worker] = code
        self._workers.discard(worker)
        self._killed.discard(worker)
        return True

    def _end_orphans(self, within_s: float) -> None:
        """Kill the children that are not workers; their children become ours, and are killed next."""
        deadline = time.monotonic() + within_s
        while orphans := _children() - self._workers - self._killed - self._own:
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                return  # it waits for a device, and dies when the device answers
            time.sleep(LOOK_EVERY_S)


def _children() -> set[int]:
    """This process's children, as far as the system lists them."""
    with contextlib.suppress(OSError):
        tasks = Path("/proc/self/task").iterdir()
        return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    return set()


def _kill_group(worker: int) -> None:
    """Kill what a worker's simulator started: its process group outlives it."""
    with contextlib.suppress(ProcessLookupError):  # the group is empty, or the worker had not created it yet
        os.killpg(worker, signal.SIGKILL)


def _described(code: int | None) -> str:
    if code is None:
        return "for an unknown reason"
    if code >= 0:
        return f"exit code {code} (the simulator, or a policy in the worker, called exit)"
    name = signal.Signals(-code).name
    if code == -signal.SIGKILL:
        return f"{name} (it was killed, perhaps because memory ran out)"
    return f"{name} (it crashed; its stack is in workers.log)"
