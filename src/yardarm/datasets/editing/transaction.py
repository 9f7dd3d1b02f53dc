"""Builds a folder that appears only when it is complete."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from yardarm.errors import UsageError, YardarmError
from yardarm.files import lock_folder, sync

__all__ = ["building", "check_output", "leftovers_of", "replace_keeping_original", "restore_original"]

AT_FDCWD = -100
RENAME_EXCHANGE = 2


def check_output(output: Path | None, *sources: Path) -> None:
    """Reject an output folder that is not empty or is inside a source; None means an edit in place."""
    if output is None:
        return
    is_there = output.is_symlink() or output.exists()
    if is_there and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} already exists and is not empty; choose another --output")
    for source in sources:
        if source.resolve() in output.resolve().parents:
            raise UsageError(f"--output={output} is inside the dataset {source}; choose a folder outside it")


@contextlib.contextmanager
def building(target: Path, in_place: bool = False) -> Iterator[Path]:
    """A hidden folder next to the target, which replaces it when the block succeeds, and is deleted otherwise.

    Until then the target stays untouched, even if the process is killed.
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
            # By now this is the original, or an incomplete result.
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise YardarmError(f"{target} could not be written ({error}); its old content is untouched") from error
    finally:
        for lock in locks:
            os.close(lock)


def replace_keeping_original(root: Path, edit: Callable[[Path], object]) -> Path:
    """Replace a dataset with what `edit` writes; the original stays beside it as NAME_old, or NAME_old_2, ….

    The result is written under the original's new name, and then the two swap names, so none is ever missing.
    """
    root = root.resolve()
    names = itertools.chain([f"{root.name}_old"], (f"{root.name}_old_{number}" for number in itertools.count(2)))
    kept = next(folder for folder in map(root.with_name, names) if not folder.exists())
    lock = lock_folder(root)
    try:
        edit(kept)
        _exchange(kept, root)
        sync(root.parent)
    finally:
        os.close(lock)
    return kept


def leftovers_of(target: Path) -> list[Path]:
    """Folders that killed edits left next to the target; the next edit removes them."""
    return [folder for folder in sorted(target.parent.glob(f"{_glob_of(target)}.editing-*")) if _is_abandoned(folder)]


def restore_original(root: Path) -> None:
    """Give the original its name back, if an edit was killed between two renames (see `_exchange`)."""
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
    for abandoned in leftovers_of(target):
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
    """Flush the whole folder to disk before it gets its name."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if not Path(parent, name).is_symlink():
                sync(Path(parent, name))
        sync(Path(parent))


def _exchange(new: Path, old: Path) -> None:
    """Swap the names of two folders, atomically where possible: on Linux with nearly every file system."""
    try:
        _rename_exchange(new, old)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise
        # Elsewhere, a kill at just this moment leaves the original under another name; `restore_original` finds it.
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
