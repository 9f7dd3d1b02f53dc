"""What people write on a run: kept in a file of its own, checked where it is read, and nothing of the results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.runs import tasks_of, written
from yardarm.errors import UsageError
from yardarm.results import Labels, RunFolder, labels_file, read_labels, read_result, write_labels


def test_labels_are_read_as_they_were_written(tmp_path: Path) -> None:
    labels = Labels("ACT, 50k", ("paper", "camera 2"), "First line.\n\tSecond: <b>ü</b>", hidden=True)
    write_labels(tmp_path, labels)
    assert read_labels(tmp_path) == labels
    assert json.loads(labels_file(tmp_path).read_text())["format"] == 1


def test_a_run_without_labels_has_no_file(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == Labels()
    write_labels(tmp_path, Labels(name="a"))
    write_labels(tmp_path, Labels())
    assert list(tmp_path.iterdir()) == []


def test_labels_change_nothing_about_a_run(tmp_path: Path) -> None:
    folder = RunFolder(written(tmp_path / "run", tasks_of({"reach-v3": "ssf"})))
    before = read_result(folder)
    write_labels(folder.path, Labels("a", ("b",), "c", hidden=True))
    assert read_result(folder) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged: it must be a map"),
        ('{"tags": "paper"}', "tags must be a list"),
        ('{"tags": ["a,b"]}', "a tag has 1 to 40 characters and no comma, got 'a,b'"),
        ('{"name": "two\\nlines"}', "a name is one line"),
        ('{"hidden": "yes"}', "hidden must be true or false"),
        ('{"format": 2}', "has format 2, and this Yardarm reads up to 1: update Yardarm"),
    ],
)
def test_damaged_labels_are_named(tmp_path: Path, content: str, message: str) -> None:
    labels_file(tmp_path).write_text(content)
    with pytest.raises(UsageError, match=message) as refused:
        read_labels(tmp_path)
    assert str(labels_file(tmp_path)) in str(refused.value)


@pytest.mark.parametrize(
    "labels",
    [
        Labels(name="x" * 101),
        Labels(name=" space"),
        Labels(tags=("",)),
        Labels(tags=tuple(map(str, range(21)))),
        Labels(note="x" * 10_001),
        Labels(note="\x1b[31mred"),
    ],
)
def test_labels_that_no_list_could_show_are_not_written(tmp_path: Path, labels: Labels) -> None:
    with pytest.raises(UsageError):
        write_labels(tmp_path, labels)
    assert not labels_file(tmp_path).exists()
