"""Who ends with whom: a launcher's workers, and whatever their simulators have started.

On Linux a process can ask for a signal when its parent dies, and can become the parent of its descendants' orphans.
Elsewhere a worker's process group is all that is known of what it has started.
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
# A process that has hung up is mostly gone within a millisecond.
ENDS_WITHIN_S = 0.5
# The main process waits no longer than ten.
ALL_END_WITHIN_S = 5.0
LOOK_EVERY_S = 0.002
LINUX = sys.platform == "linux"


def die_with_parent(parent: int, how: signal.Signals) -> None:
    """Ask Linux for a signal when the parent dies, so that nothing is orphaned even then."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)
        if os.getppid() != parent:
            os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends: a daemon is orphaned on purpose."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


class Family:
    """The workers that this process has forked, and what those that ended have left behind."""

    def __init__(self) -> None:
        self._workers: set[int] = set()
        self._killed: set[int] = set()
        """By us, and not reaped yet."""
        self._codes: dict[int, int | None] = {}
        """How those came to their end that ended by themselves; None if somebody else has reaped them."""
        self._own = _children()
        """What a module has started while it was imported: it serves all workers."""

    def add(self, worker: int) -> None:
        """Look after a worker."""
        self._workers.add(worker)

    def kill(self, worker: int) -> None:
        """End a worker, and what its simulator has started; what became a daemon goes when the worker is reaped."""
        self._codes.pop(worker, None)
        if worker in self._workers:  # not reaped yet, so the number is still this worker's
            os.kill(worker, signal.SIGKILL)
            _kill_group(worker)
            self._workers.remove(worker)
            self._killed.add(worker)

    def reap(self) -> None:
        """See who has ended, and end whom they have left behind."""
        ended = [worker for worker in (*self._workers, *self._killed) if self._reap(worker)]
        if ended:
            self._end_orphans(ENDS_WITHIN_S)

    def how_ended(self, worker: int) -> str:
        """How a worker that has hung up came to its end."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while worker in self._workers and time.monotonic() < deadline:
            self.reap()
            time.sleep(LOOK_EVERY_S)
        if worker in self._workers:
            self.kill(worker)
            return "it closed its connection, and was killed"
        return _told(self._codes.pop(worker, None))

    def end(self) -> None:
        """End all of them, and wait for that."""
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
        except ChildProcessError:  # a module that was imported waits for children, too
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
        """Kill the children that are no workers; theirs become ours, and are next."""
        deadline = time.monotonic() + within_s
        while orphans := _children() - self._workers - self._killed - self._own:
            for pid in orphans:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                return  # it waits for a device, and dies when that answers
            time.sleep(LOOK_EVERY_S)


def _children() -> set[int]:
    """The processes whose parent this is, as far as that can be known."""
    with contextlib.suppress(OSError):
        tasks = Path("/proc/self/task").iterdir()
        return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    return set()


def _kill_group(worker: int) -> None:
    """End what a worker's simulator has started; its group outlives it."""
    with contextlib.suppress(ProcessLookupError):  # nobody is left in it, or the worker had not come so far
        os.killpg(worker, signal.SIGKILL)


def _told(code: int | None) -> str:
    if code is None:
        return "nobody knows how"
    if code >= 0:
        return f"exit code {code} (the simulator, or a policy in the worker, has called exit)"
    name = signal.Signals(-code).name
    if code == -signal.SIGKILL:
        return f"{name} (somebody has killed it, or memory was short)"
    return f"{name} (it crashed; workers.log has its stack)"
