"""What moves a twin from outside: files of timed positions."""

from __future__ import annotations

from pathlib import Path

import pytest

from yardarm.errors import UsageError
from yardarm.robots.twins import Motion, read_motion


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    table = written(tmp_path, "wave.csv", "time,shoulder_pan.pos, gripper\n0,0,50\n2,40,60\n\n")
    lists = written(tmp_path, "wave.json", '{"time": [0, 2], "shoulder_pan": [0, 40], "gripper.pos": [50, 60]}')
    assert read_motion(table) == read_motion(lists)
    assert read_motion(table)(1.0) == {"shoulder_pan": 20.0, "gripper": 55.0}


def test_a_motion_waits_at_its_ends_or_begins_again() -> None:
    motion = Motion([1.0, 2.0], {"gripper": [10.0, 30.0]})
    assert [motion(seconds)["gripper"] for seconds in (0.0, 1.0, 1.5, 9.0)] == [10.0, 10.0, 20.0, 30.0]
    again = Motion([0.0, 2.0], {"gripper": [10.0, 30.0]}, repeats=True)
    assert again(5.0) == {"gripper": 20.0}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[1, 2]", "must have the column 'time'"),
        ("a.json", '{"time": [0, 1]}', "positions of at least one joint"),
        ("a.json", '{"time": [0, 0], "gripper": [1, 2]}', "must grow"),
        ("a.json", '{"time": [0, 1], "gripper": [1]}', "2 times, but 1 positions of gripper"),
        ("a.json", '{"time": [0, 1], "gripper": [1, true]}', "'gripper' must have numbers only, got True"),
        ("a.json", '{"time": [0, 1], "gripper": 3}', "'gripper' must be a list"),
        ("a.json", "{", "cannot be read as a motion"),
        ("a.csv", "", "it is empty"),
        ("a.csv", "time,gripper\n0,1\n1\n", "line 3 has 1 values, the heading 2"),
        ("a.csv", "time,gripper\n0,nan\n", "must have numbers only, got 'nan'"),
    ],
)
def test_a_mistake_in_a_file_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"a.{name[2:]}.*{message}"):
        read_motion(written(tmp_path, name, text))
