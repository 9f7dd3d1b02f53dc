"""What a JSON file holds is checked once, and what is wrong is told with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yardarm.contents import (
    count,
    flag,
    list_of,
    map_of,
    number,
    optional,
    parse_json,
    positive,
    quantity,
    read_json,
    record,
    text,
    whole,
)

TASK = record({"name": text, "steps": count}, {"fps": number})
FILE = record(
    {"tasks": list_of(TASK)}, {"by": map_of(optional(whole)), "good": flag, "reward": quantity, "n": positive}
)
GOOD: dict[str, Any] = {"tasks": [{"name": "a", "steps": 3}], "by": {"x": 1, "y": None}, "reward": float("nan")}


def test_what_fits_passes_and_so_does_what_nobody_knows() -> None:
    FILE({**GOOD, "newer": object()}, "")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"tasks": None}, "tasks must be a list, got None"),
        ({"tasks": [{"name": "a", "steps": 3}, {"name": "b"}]}, r"tasks\[1\]\.steps is missing"),
        ({"tasks": [{"name": 3, "steps": 3}]}, r"tasks\[0\]\.name must be text, got 3"),
        ({"tasks": [{"name": "a", "steps": "3"}]}, r"tasks\[0\]\.steps must be a whole number, got '3'"),
        ({"tasks": [{"name": "a", "steps": True}]}, r"tasks\[0\]\.steps must be a whole number, got True"),
        ({"tasks": [{"name": "a", "steps": -3}]}, r"tasks\[0\]\.steps must be 0 or more, got -3"),
        ({"tasks": [{"name": "a", "steps": 3, "fps": float("inf")}]}, "fps must be a finite number, got inf"),
        ({"tasks": ["x" * 99]}, r"tasks\[0\] must be a map, got 'x{39}…$"),
        ({"by": {"x": 1.5}}, r"by\.x must be a whole number, got 1\.5"),
        ({"good": 1}, "good must be true or false, got 1"),
        ({"reward": "nan"}, "reward must be a number, got 'nan'"),
        ({"n": 0}, "n must be 1 or more, got 0"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        FILE({**GOOD, **change}, "")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "Expecting value"),
        (b"\xff", "decode"),
        (b"[" * 100_000, "nested more than 100 deep"),
        (b"[" * 500 + b"]" * 500, "nested more than 100 deep"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested more than 100 deep"),
        (b"[" + b"9" * 400 + b"]", "a number of 400 digits"),
        (b'"\\ud800"', "surrogates"),
    ],
)
def test_json_that_nobody_could_count_with_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_json(data)


def test_other_json_is_read_as_it_is(tmp_path: Path) -> None:
    content = {"a": [[0]] * 300, "large": [2**64 - 1, -(2**63), 1e300], "word": "\U0001f600", "n": [None, True]}
    (tmp_path / "x.json").write_text(json.dumps(content))
    assert read_json(tmp_path / "x.json") == content
