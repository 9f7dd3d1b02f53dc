"""An open file knows whether its path still leads to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from yardarm.results.watched_file import WatchedFile


@pytest.fixture
def file(tmp_path: Path) -> Iterator[IO[bytes]]:
    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / "journal").open("ab", buffering=0) as file:
        file.write(b"one\n")
        yield file


@pytest.fixture
def held(file: IO[bytes], tmp_path: Path) -> Iterator[WatchedFile]:
    held = WatchedFile(tmp_path / "run" / "journal", file)
    yield held
    held.close()


def test_a_file_that_nobody_touched_is_in_place(held: WatchedFile, file: IO[bytes]) -> None:
    file.write(b"two\n")
    assert held.in_place
    assert held.has_folder
    assert held.moved_to() is None


def test_a_deleted_file_and_one_that_has_its_name_now(held: WatchedFile) -> None:
    held.path.unlink()
    assert not held.in_place
    held.path.write_bytes(b"another")
    assert not held.in_place
    assert held.has_folder
    assert held.moved_to() is None


def test_a_copy_in_its_place_is_noticed_when_it_falls_behind(held: WatchedFile, file: IO[bytes]) -> None:
    shutil.copy2(held.path, held.path.with_name("copy"))
    held.path.with_name("copy").replace(held.path)
    assert held.in_place, "nothing is lost yet, and some file systems give their files new numbers"
    file.write(b"two\n")
    assert not held.in_place


def test_a_folder_is_found_where_it_was_moved(held: WatchedFile, tmp_path: Path) -> None:
    (tmp_path / "run").rename(tmp_path / "new (deleted)")
    assert not held.has_folder
    assert held.moved_to() == tmp_path / "new (deleted)"
    (tmp_path / "new (deleted)" / "journal").unlink()
    assert held.moved_to() is None, "the folder is there, and the file is not"


def test_a_folder_above_that_was_moved_counts_as_well(held: WatchedFile, tmp_path: Path) -> None:
    os.rename(tmp_path, tmp_path.with_name("above"))
    try:
        assert held.moved_to() == tmp_path.with_name("above") / "run"
    finally:
        os.rename(tmp_path.with_name("above"), tmp_path)
    assert held.in_place


def test_a_deleted_folder_is_nowhere_though_another_takes_its_name(held: WatchedFile, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "run")
    assert held.moved_to() is None
    (tmp_path / "run").mkdir()
    assert not held.has_folder
