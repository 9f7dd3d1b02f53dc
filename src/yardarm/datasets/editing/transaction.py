"""A folder that is there when it is complete, and not before."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from yardarm.errors import UsageError, YardarmError
from yardarm.files import lock_folder, sync

__all__ = ["building", "check_output", "leftovers_beside", "put_back"]

AT_FDCWD = -100
RENAME_EXCHANGE = 2


def check_output(output: Path | None, *sources: Path) -> None:
    """Refuse a place for the result in which something lies already; None is the dataset's own."""
    if output is None:
        return
    is_there = output.is_symlink() or output.exists()
    if is_there and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} is there already and is not empty; choose another --output")
    for source in sources:
        if source.resolve() in output.resolve().parents:
            raise UsageError(f"--output={output} lies inside of the dataset {source}; choose a folder beside it")


@contextlib.contextmanager
def building(target: Path, in_place: bool = False) -> Iterator[Path]:
    """A hidden folder beside the target, which takes its place when the block ends well, and is gone otherwise.

    Whatever happens in between, a kill too, what is at the target stays as it is.
    """
    target = target.resolve()
    locks: list[int] = []
    try:
        if in_place:
            locks.append(lock_folder(target))
        folder = _new_folder(target)
        locks.append(lock_folder(folder))
        try:
            yield folder
            _sync(folder)
            if in_place:
                _exchange(folder, target)
            else:
                folder.rename(target)
            sync(target.parent)
        finally:
            # By now the name is that of the original, or of a result that is not complete.
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise YardarmError(f"{target} could not be written ({error}); what was there before is untouched") from error
    finally:
        for lock in locks:
            os.close(lock)


def leftovers_beside(target: Path) -> list[Path]:
    """What edits that were killed left; the next edit removes it."""
    return [folder for folder in sorted(target.parent.glob(f"{_glob_of(target)}.editing-*")) if _is_abandoned(folder)]


def put_back(root: Path) -> None:
    """After a kill between the two renames of a file system that cannot exchange folders: the original's name."""
    if root.exists() or not root.parent.is_dir():
        return
    for kept in sorted(root.parent.glob(f"{_glob_of(root)}.before-*")):
        if (kept / "meta" / "info.json").exists():
            kept.rename(root)
            return


def _glob_of(target: Path) -> str:
    return "." + "".join(f"[{letter}]" if letter in "*?[" else letter for letter in target.name)


def _new_folder(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    for abandoned in leftovers_beside(target):
        shutil.rmtree(abandoned, ignore_errors=True)
    folder = target.with_name(f".{target.name}.editing-{os.getpid()}")
    folder.mkdir()
    return folder


def _is_abandoned(folder: Path) -> bool:
    try:
        os.close(lock_folder(folder))
    except (UsageError, OSError):
        return False
    return True


def _sync(folder: Path) -> None:
    """Have the disk know all of it before it gets its name."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if not Path(parent, name).is_symlink():
                sync(Path(parent, name))
        sync(Path(parent))


def _exchange(new: Path, old: Path) -> None:
    """Let two folders change names, at once where the system can: Linux, on nearly every file system."""
    try:
        _rename_exchange(new, old)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise
        # Elsewhere a kill in just this moment leaves the original under another name; `put_back` knows it.
        kept = old.with_name(f".{old.name}.before-{os.getpid()}")
        old.rename(kept)
        try:
            new.rename(old)
        except BaseException:
            kept.rename(old)
            raise
        kept.rename(new)


def _rename_exchange(first: Path, second: Path) -> None:
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        raise OSError(errno.ENOSYS, "there is no renameat2 here") from None
    if renameat2(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
