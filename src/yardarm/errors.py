"""Every exception that Yardarm raises on purpose.

    YardarmError
    ├── UsageError          the user can mend it: a flag, a name, a file (exit code 2)
    │   ├── SetupError      the machine can be mended: a package, a library, a version (exit code 2)
    │   └── DatasetFault    a dataset's file is missing, cut short or damaged (exit code 2)
    ├── EnvironmentFault    a simulator or its worker broke
    ├── PolicyFault         a policy raised, or answered with something that cannot be played
    ├── StorageFault        results were deleted, moved or replaced while they were being written
    └── ConnectionFault     the way to a policy elsewhere broke: its episode is run again

A message says what failed, the value, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ConnectionFault",
    "DatasetFault",
    "EnvironmentFault",
    "PolicyFault",
    "SetupError",
    "StorageFault",
    "UsageError",
    "YardarmError",
    "nearest",
    "one_line",
]


class YardarmError(Exception):
    """Base of all of Yardarm's own exceptions."""


class UsageError(YardarmError):
    """Something the user asked for cannot be done as asked."""


class SetupError(UsageError):
    """Something is missing on this machine, or its version does not fit."""


class DatasetFault(UsageError):
    """A dataset's file is missing, cut short or damaged; the message names it."""


class EnvironmentFault(YardarmError):
    """A simulator, or the process it lives in, failed."""


class PolicyFault(YardarmError):
    """A policy failed, or returned what cannot be played."""


class StorageFault(YardarmError):
    """A folder or a file was deleted, moved or replaced while it was being written."""


class ConnectionFault(YardarmError):
    """The connection of an episode to its policy was lost; the policy itself may be well."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known name, or ";" when nothing is close."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{matches[0]}'?" if matches else ";"


def one_line(error: BaseException) -> str:
    """An exception's kind and message, on one line however long the message is."""
    return " ".join(f"{type(error).__name__}: {error}".split())
