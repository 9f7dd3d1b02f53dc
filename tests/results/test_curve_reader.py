"""A learning curve that is read while it grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from yardarm.errors import UsageError
from yardarm.results import Curve, CurveReader


def point(step: int) -> dict[str, object]:
    return {"kind": "train", "step": step, "loss": 1 / step}


def steps(reader: CurveReader) -> list[int]:
    return [own["step"] for own in reader.points()]


def grow(path: Path, *more: int, upto: int = 10**9) -> None:
    curve = Curve(path, upto)
    for step in more:
        curve.append(point(step))
    curve.close()


def test_there_need_not_be_a_curve_yet(tmp_path: Path) -> None:
    assert CurveReader(tmp_path / "metrics.jsonl").points() == []


def test_new_points_come_after_those_that_were_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    reader = CurveReader(path)
    grow(path, 1, 2)
    assert steps(reader) == [1, 2]
    grow(path, 3)
    assert steps(reader) == [1, 2, 3]
    assert steps(reader) == [1, 2, 3]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    grow(path, 1, 2)
    reader = CurveReader(path)
    reader.points()
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(b"#" * (len(content) // 2))  # who reads it again stumbles
    grow_in_place(path, 3)
    assert steps(reader) == [1, 2, 3]


def grow_in_place(path: Path, step: int) -> None:
    with path.open("a") as file:
        file.write(f'{{"kind": "train", "step": {step}}}\n')


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"kind": "train", "step": 1}\n{"kind": "tr')
    reader = CurveReader(path)
    assert steps(reader) == [1]
    with path.open("a") as file:
        file.write('ain", "step": 2}\n')
    assert steps(reader) == [1, 2]


def test_a_training_that_goes_on_from_a_checkpoint_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    grow(path, 1, 2, 3)
    reader = CurveReader(path)
    assert steps(reader) == [1, 2, 3]
    grow(path, 4, 5, 6, 7, upto=1)
    assert steps(reader) == [1, 4, 5, 6, 7]


def test_a_damaged_line_is_named_each_time(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    grow(path, 1)
    reader = CurveReader(path)
    reader.points()
    with path.open("a") as file:
        file.write('{"kind": "train", "step": 2}\nnonsense\n')
    for _ in range(2):
        with pytest.raises(UsageError, match=r"metrics.jsonl is damaged at line 3"):
            reader.points()
