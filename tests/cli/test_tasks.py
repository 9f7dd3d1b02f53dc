"""``yardarm tasks`` lists what there is, and draws it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.helpers import yardarm
from yardarm.report import contact_sheet


def test_benchmarks_are_listed_with_what_they_are() -> None:
    lines = {line.split(":")[0]: line for line in yardarm("tasks").stdout.splitlines()}
    assert {"aloha", "gym", "hub", "libero", "metaworld", "pusht", "toy"} <= set(lines)
    assert "50 tasks" in lines["metaworld"]
    assert "130 tasks" in lines["libero"]
    assert "--env.task=ID" in lines["gym"]


def test_what_has_no_list_says_so() -> None:
    answer = yardarm("tasks", "gym")
    assert answer.returncode == 2
    assert "'gym' has no fixed list of tasks" in answer.stderr


def test_tasks_are_drawn_once_each_by_group(tmp_path: Path) -> None:
    answer = yardarm("tasks", "toy", "--images=pictures")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == [f"pictures/{name}.jpg: 1 task(s)" for name in ("left", "right", "far")]
    with Image.open(tmp_path / "pictures" / "left.jpg") as sheet:
        picture = np.asarray(sheet)[20:180, 20:180]
    assert picture.std() < 5  # the toy world is grey all over
    assert picture.mean() < 250


def test_mistakes_get_one_clear_line() -> None:
    for words, message in (
        (["--images"], "yardarm tasks BENCHMARK --images"),
        (["toy", "--image"], "unknown option '--image'; did you mean 'images'?"),
    ):
        answer = yardarm("tasks", *words)
        assert answer.returncode == 2
        assert message in answer.stderr


def test_pictures_of_any_shape_stand_in_rows_over_their_captions() -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    pictures = [
        np.full((height, 40, 3), colour, np.uint8) for height, colour in zip((40, 20, 80), colours, strict=True)
    ]
    sheet = np.asarray(contact_sheet([(picture, "a caption") for picture in pictures], columns=2))
    centres = [(8 + 96, 8 + 96), (8 + 96, 208 + 96), (8 + 96 + 8 + 192 + 8 + 15, 8 + 96)]
    for (row, column), colour in zip(centres, colours, strict=True):
        np.testing.assert_allclose(sheet[row, column], colour, atol=2)
