"""Whatever happens in the middle of an edit, the original is what it was."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.datasets.frames_of import assert_same_episodes, episodes_of, snapshot
from tests.datasets.made import PLAIN, make_dataset
from tests.helpers import path_with
from yardarm.datasets import DatasetWriter, read_metadata
from yardarm.datasets.editing import add_feature, delete_episodes, describe_dataset, rename_task, transaction
from yardarm.datasets.editing.assembly import DataFiles
from yardarm.datasets.features import DatasetFeature
from yardarm.errors import UsageError, YardarmError

ROOT = Path(__file__).parents[2]
# Kills itself: after so many steps of progress, or instead of a call.
KILLED = """
import os, signal, sys
from pathlib import Path
from yardarm.datasets.editing import delete_episodes, transaction

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

steps = 0
def on_progress(*_):
    global steps
    steps += 1
    if sys.argv[1] == str(steps):
        die()

if sys.argv[1] == "before the exchange":
    transaction._exchange = die
if sys.argv[1] == "after the exchange":
    transaction.shutil.rmtree = lambda folder, **_: "editing" in folder.name and die()
if sys.argv[1] == "between two renames":
    def refuse(*_):
        raise OSError(transaction.errno.ENOSYS, "no renameat2")
    transaction._rename_exchange = refuse
    rename = Path.rename
    Path.rename = lambda path, target: rename(path, target) if path.name == "own" else die()
output = Path("less") if sys.argv[2] == "output" else None
delete_episodes(Path("own"), [0], output, on_progress)
"""


def run_killed(when: str, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, when, where], env={**os.environ, "PYTHONPATH": path_with(ROOT)}
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("when", ["2", "5", "before the exchange"])
def test_an_edit_in_place_that_is_killed_changes_nothing(when: str) -> None:
    make_dataset(Path("own"), (5, 3, 7, 2))
    before, expected = snapshot(Path("own")), episodes_of(Path("own"))
    run_killed(when, "in place")
    assert snapshot(Path("own")) == before
    assert [path.name.partition("-")[0] for path in describe_dataset(Path("own")).leftovers] == [".own.editing"]
    delete_episodes(Path("own"), [1], None)
    assert_same_episodes(episodes_of(Path("own")), [expected[0], *expected[2:]])
    assert sorted(Path().iterdir()) == [Path("own")]  # what the killed one left is gone


def test_an_edit_that_is_killed_leaves_no_half_dataset() -> None:
    make_dataset(Path("own"), (5, 3))
    before = snapshot(Path("own"))
    run_killed("2", "output")
    assert not Path("less").exists()
    assert snapshot(Path("own")) == before
    delete_episodes(Path("own"), [0], Path("less"))
    assert sorted(path.name for path in Path().iterdir()) == ["less", "own"]


def test_a_kill_after_the_exchange_leaves_the_result() -> None:
    make_dataset(Path("own"), (5, 3))
    expected = episodes_of(Path("own"))
    run_killed("after the exchange", "in place")
    assert_same_episodes(episodes_of(Path("own")), expected[1:])


def test_a_kill_between_two_renames_is_put_right() -> None:
    make_dataset(Path("own"), (5, 3))
    before = snapshot(Path("own"))
    run_killed("between two renames", "in place")
    assert not Path("own").exists()
    describe_dataset(Path("own"))
    assert snapshot(Path("own")) == before


def test_a_system_that_cannot_exchange_folders_renames_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "no renameat2")

    monkeypatch.setattr(transaction, "_rename_exchange", refuse)
    make_dataset(Path("own"), (5, 3), PLAIN)
    expected = episodes_of(Path("own"))
    delete_episodes(Path("own"), [0], None)
    assert_same_episodes(episodes_of(Path("own")), expected[1:])
    assert sorted(Path().iterdir()) == [Path("own")]


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
@pytest.mark.parametrize("output", [None, Path("less")])
def test_a_failure_in_the_middle_changes_nothing(
    error: BaseException, output: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dataset(Path("own"), (5, 3, 2))
    before = snapshot(Path("own"))
    add, calls = DataFiles.add, []

    def fail_at_the_second(files: DataFiles, table: object) -> object:
        calls.append(table)
        if len(calls) == 2:
            raise error
        return add(files, table)

    monkeypatch.setattr(DataFiles, "add", fail_at_the_second)
    expected = YardarmError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        rename_task(Path("own"), "task 0", "lift", output)
    assert snapshot(Path("own")) == before
    assert sorted(Path().iterdir()) == [Path("own")]


def test_a_dataset_that_is_being_recorded_is_not_replaced() -> None:
    make_dataset(Path("own"), (5, 3), PLAIN)
    with DatasetWriter.resume("own"), pytest.raises(UsageError, match="is being written by another process"):
        delete_episodes(Path("own"), [0], None)
    assert read_metadata(Path("own")).total_episodes == 2


def test_a_place_that_is_taken_is_refused() -> None:
    make_dataset(Path("own"), (2, 2), PLAIN)
    Path("taken").mkdir()
    Path("taken/file").touch()
    for output, expected in (
        (Path("taken"), "already exists and is not empty"),
        (Path("own/inside"), "is inside the dataset"),
    ):
        with pytest.raises(UsageError, match=expected):
            delete_episodes(Path("own"), [0], output)
    Path("empty").mkdir()
    assert delete_episodes(Path("own"), [0], Path("empty")).total_episodes == 1


def test_a_dataset_behind_a_link_is_edited_where_it_is() -> None:
    Path("disk").mkdir()
    make_dataset(Path("disk/own"), (2, 3), PLAIN)
    Path("link").symlink_to("disk/own")
    add_feature(Path("link"), "reward", DatasetFeature("float32", (1,)), 0.5, None)
    assert Path("link").is_symlink()
    assert "reward" in read_metadata(Path("disk/own")).features


def test_a_dataset_is_edited_from_inside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_dataset(Path("own").absolute(), (2, 3), PLAIN)
    monkeypatch.chdir("own")
    assert delete_episodes(Path(), [0], None).total_frames == 3
    assert read_metadata(place).total_episodes == 1
