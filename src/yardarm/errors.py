"""Every exception that Yardarm raises on purpose.

    YardarmError
    ├── UsageError          the user can fix it: a flag, a name, a file (exit code 2)
    │   ├── SetupError      the machine lacks a package, a library or the right version (exit code 2)
    │   ├── ConsentNeeded   a file names code that would run: the user must agree (exit code 2)
    │   └── DatasetFault    a dataset's file is missing, cut short or damaged (exit code 2)
    ├── EnvironmentFault    a simulator or its worker broke
    ├── PolicyFault         a policy raised, or answered with something that cannot be played
    ├── StorageFault        results were deleted, moved or replaced while they were being written
    ├── ConnectionFault     the connection to a remote policy broke: its episode runs again
    └── RobotFault          a robot cannot do what it was asked, or is not calibrated
        ├── BusFault        its motors do not answer, or refuse
        ├── CameraFault     a camera cannot be opened, or delivers something else than it should
        ├── NoFrameYet      a camera has not delivered anything yet
        ├── StaleFrame      a camera's newest picture is too old
        ├── NotConnected    it must be connected first
        └── AlreadyConnected

A message says what failed, the value, and what to do about it.
"""

from __future__ import annotations

import difflib
import os
import sys
import threading
import traceback
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "AlreadyConnected",
    "BusFault",
    "CameraFault",
    "ConnectionFault",
    "ConsentNeeded",
    "DatasetFault",
    "EnvironmentFault",
    "NoFrameYet",
    "NotConnected",
    "PolicyFault",
    "RobotFault",
    "SetupError",
    "StaleFrame",
    "StorageFault",
    "UsageError",
    "YardarmError",
    "in_words",
    "nearest",
    "one_line",
    "stack_of",
    "trace_of",
]

# Stack frames in these files only lead to the user's code, so they are not shown.
OUR_FRAMES = (f"{Path(__file__).parent}{os.sep}", threading.__file__)


class YardarmError(Exception):
    """Base class of all exceptions that Yardarm raises."""


class UsageError(YardarmError):
    """What the user asked for cannot be done."""


class SetupError(UsageError):
    """Something is missing on this machine, or has the wrong version."""


class ConsentNeeded(UsageError):
    """A file, not the user, names code that would run; `code` says which."""

    def __init__(self, code: str) -> None:
        super().__init__(f"this would run {code} on this machine; if you trust it, add --trust_remote_code=true")
        self.code = code


class DatasetFault(UsageError):
    """A dataset's file is missing, cut short or damaged; the message names it."""


class EnvironmentFault(YardarmError):
    """A simulator, or the process it lives in, failed."""


class PolicyFault(YardarmError):
    """A policy failed, or returned actions that cannot be played; `trace` shows where in its code, if known."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace
        if trace:
            self.add_note(trace)  # Python prints it below the message


class StorageFault(YardarmError):
    """A folder or a file was deleted, moved or replaced while it was being written."""


class ConnectionFault(YardarmError):
    """An episode lost the connection to its policy; the policy itself may be fine."""


class RobotFault(YardarmError):
    """A robot, or what moves it, cannot do what it was asked."""


class BusFault(RobotFault, ConnectionError):
    """Motors do not answer, or refuse; a `ConnectionError`, too, as LeRobot's users expect."""


class CameraFault(RobotFault, ConnectionError):
    """A camera cannot be opened, stopped delivering, or delivers something else than it should."""


class NoFrameYet(RobotFault, RuntimeError):
    """A camera has not delivered anything since it was connected; a `RuntimeError`, as LeRobot's users expect."""


class StaleFrame(RobotFault, TimeoutError):
    """A camera's newest picture is too old, or no new one came in time."""


class NotConnected(RobotFault, ConnectionError):
    """A robot must be connected first, or calibrated."""


class AlreadyConnected(RobotFault, ConnectionError):
    """A robot is connected already."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known name, or ";" when nothing is close."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{matches[0]}'?" if matches else ";"


def in_words(error: BaseException) -> str:
    """What went wrong, on one line: our own messages say it themselves."""
    return str(error) if isinstance(error, YardarmError) else one_line(error)


def one_line(error: BaseException) -> str:
    """An exception's type and message, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def trace_of(error: BaseException) -> str:
    """An exception's traceback, without Yardarm's own frames at the top."""
    shown = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = shown
    while part is not None:  # an exception, what caused it, what caused that, …
        part.stack = _without_our_frames(part.stack)
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)
    return "".join(shown.format())


def stack_of(thread: int | None) -> str:
    """A thread's current stack, without Yardarm's own frames at the top."""
    frame = sys._current_frames().get(thread) if thread is not None else None
    return "".join(_without_our_frames(traceback.extract_stack(frame)).format()) if frame is not None else ""


def _without_our_frames(stack: traceback.StackSummary) -> traceback.StackSummary:
    """Drop the frames that lead to the user's code; keep all frames if they are all Yardarm's."""
    first = next((place for place, frame in enumerate(stack) if not frame.filename.startswith(OUR_FRAMES)), 0)
    return traceback.StackSummary.from_list(stack[first:])
