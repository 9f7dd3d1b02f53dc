"""Writes files so that a crash never leaves one half written."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import IO

from yardarm.errors import UsageError

__all__ = [
    "TEMPORARY",
    "is_locked",
    "lock_folder",
    "sweep",
    "sync",
    "sync_all",
    "temporary_path",
    "write_all",
    "write_atomically",
    "write_json",
    "write_output",
]

TEMPORARY = ".tmp"
# A name made by `temporary_path`, and the id of the process that made it.
IN_FLIGHT = re.compile(r"\..+\.(\d+)-[0-9a-f]+" + re.escape(TEMPORARY))
# On a shared file system, the process may be alive on another machine, but then it would have written within the hour.
ABANDONED_AFTER_S = 3600.0
Write = Callable[[IO[bytes]], object]


def write_atomically(path: Path, write: Write) -> None:
    """Write to a temporary file next to it, flush to disk, then rename."""
    _put_in_place(path, write)
    sync(path.parent)


def write_all(files: Sequence[tuple[Path, Write]], threads: Executor) -> None:
    """Write several files atomically; they wait for the disk together, and each folder is flushed once."""
    for written in [threads.submit(_put_in_place, path, write) for path, write in files]:
        written.result()
    for folder in {path.parent for path, _ in files}:
        sync(folder)


def _put_in_place(path: Path, write: Write) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(path)
    try:
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_output(path: Path, content: bytes, instead: str) -> None:
    """Write a file where the user wants it; if that fails, say what to do instead."""
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; {instead}") from error


def temporary_path(path: Path) -> Path:
    """A name to write to before the rename, unique to this thread: an evaluation and a viewer may write the same file.

    The ending is one that no reader searches for, so that no reader of all "*.json" finds half a file.
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident():x}{TEMPORARY}")


def sweep(folder: Path) -> None:
    """Remove temporary files of killed writers below a folder; keep those that may still be in use."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if (match := IN_FLIGHT.fullmatch(name)) and not _is_alive(int(match[1])):
                _remove_if_old(Path(place, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's process, or not a process id at all
        return True
    return True


def _remove_if_old(path: Path) -> None:
    with contextlib.suppress(OSError):  # already removed by another process, or not ours to remove
        if time.time() - path.stat().st_mtime < ABANDONED_AFTER_S:
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to disk: a power cut can lose a file that was just created."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> bool:
    """Flush everything written to a folder's file system; false where the system cannot do that.

    One call for many files costs much less than one for each, but it also waits for other programs' data.
    """
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(folder))
    finally:
        os.close(descriptor)
    return True


def lock_folder(folder: Path) -> int:
    """Lock a folder until the returned descriptor is closed, or the process ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{folder} is being written by another process; wait until it has finished") from None
    return descriptor


def is_locked(folder: Path) -> bool:
    """Whether another process has locked a folder."""
    try:
        os.close(lock_folder(folder))
    except UsageError:
        return True
    except OSError:  # it is not there
        return False
    return False


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""

    def write(file: IO[bytes]) -> None:
        for part in json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value):
            file.write(part.encode())
        file.write(b"\n")

    write_atomically(path, write)
