"""How files are written, so that a crash leaves none half done."""

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
    "beside",
    "lock_folder",
    "sweep",
    "sync",
    "sync_all",
    "write_all",
    "write_atomically",
    "write_json",
    "write_output",
]

TEMPORARY = ".tmp"
# What `beside` gives, and who writes it.
IN_FLIGHT = re.compile(r"\..+\.(\d+)-[0-9a-f]+" + re.escape(TEMPORARY))
# On a file system that machines share, a number may be that of a process elsewhere: one that lives writes now and then.
ABANDONED_AFTER_S = 3600.0
Write = Callable[[IO[bytes]], object]


def write_atomically(path: Path, write: Write) -> None:
    """Write beside the file, flush to the disk, then put it in place."""
    _put_in_place(path, write)
    sync(path.parent)


def write_all(files: Sequence[tuple[Path, Write]], threads: Executor) -> None:
    """Write several files so; they wait for the disk together, and their folders are flushed once."""
    for written in [threads.submit(_put_in_place, path, write) for path, write in files]:
        written.result()
    for folder in {path.parent for path, _ in files}:
        sync(folder)


def _put_in_place(path: Path, write: Write) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)
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
    """Write a file where the user wants it; if that cannot be, say what to do instead."""
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; {instead}") from error


def beside(path: Path) -> Path:
    """A name for what is being written, its own: an evaluation and a viewer may write the same file.

    It ends in nothing that anybody looks for: whoever reads all files of a kind must not find half of one.
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident():x}{TEMPORARY}")


def sweep(folder: Path) -> None:
    """Remove what writers that were killed have left below a folder; what anybody may still be writing stays."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if (match := IN_FLIGHT.fullmatch(name)) and not _is_alive(int(match[1])):
                _remove_if_old(Path(place, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's, or no process's number at all
        return True
    return True


def _remove_if_old(path: Path) -> None:
    with contextlib.suppress(OSError):  # somebody else has swept it, or may not be swept
        if time.time() - path.stat().st_mtime < ABANDONED_AFTER_S:
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync(path: Path) -> None:
    """Have the disk know a file's content, or the names in a folder: a power cut can lose a file that was just made."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> bool:
    """Have the disk know all that was written to a folder's file system, by anybody; false where that cannot be done.

    One call for many files costs much less than one for each; it waits for others' data, too.
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
    """Take a folder for as long as the descriptor is open, at most as long as the process lives."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{folder} is being written by another process; wait for it") from None
    return descriptor


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""

    def write(file: IO[bytes]) -> None:
        for part in json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value):
            file.write(part.encode())
        file.write(b"\n")

    write_atomically(path, write)
