"""What the pages of a dataset show, as data."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.datasets.made import FPS, GOLDEN, make_dataset
from tests.datasets.test_measured import record, times
from tests.datasets.v21 import make_v21
from tests.pages.shown_dataset import LENGTHS, shown_dataset
from yardarm.datasets import DatasetFeature, MeasuredTimes, measured_file, read_metadata
from yardarm.datasets.measured import write_measured
from yardarm.datasets.names import dimension_names
from yardarm.pages.dataset_data import dataset_data, dataset_episode_data


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shown_dataset(tmp_path_factory.mktemp("datasets") / "shown")


def page(root: Path) -> dict[str, Any]:
    data = dataset_data(read_metadata(root), root.name)
    json.dumps(data, allow_nan=False)  # browsers know no NaN
    return data


def episode(root: Path, index: int) -> dict[str, Any]:
    meta = read_metadata(root)
    data = dataset_episode_data(meta, meta.episodes[index])
    json.dumps(data, allow_nan=False)
    return data


def test_a_dataset_is_summed_up(root: Path) -> None:
    data = page(root)
    assert (data["episodes"], data["frames"], data["fps"], data["robot"]) == (4, sum(LENGTHS), 20, "toy_arm")
    assert data["seconds"] == sum(LENGTHS) / 20
    assert data["bytes"]["all"] == sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    assert data["tasks"] == ["look", "take the block", "push the block"]
    assert [camera["name"] for camera in data["pictures"]] == ["front", "wrist", "image"]
    assert [camera["codec"] for camera in data["pictures"]] == ["h264", "h264", None]
    assert data["damage"] == []


def test_episodes_are_listed_with_their_tasks_outcomes_and_returns(root: Path) -> None:
    lists = page(root)["lists"]
    assert lists["length"] == list(LENGTHS)
    assert lists["tasks"] == [[0, 1], [2], [0, 1], [2]]
    assert lists["outcome"] == "fsfs"
    assert lists["reward"] == [length / 2 for length in LENGTHS]


def test_outcomes_are_counted_where_no_statistics_tell_them(tmp_path: Path) -> None:
    old = make_v21(tmp_path / "old")
    assert page(old)["lists"]["outcome"] == "sss"
    assert page(old)["lists"]["reward"] is None


def test_statistics_have_a_row_for_each_number_with_its_name(root: Path) -> None:
    rows = {row["feature"]: row for row in page(root)["statistics"]}
    state = rows["observation.state"]
    assert state["names"] == ["pan", "lift", "gripper"]
    assert (state["min"][0], state["max"][0], state["max"][1]) == (0, 35, 30)
    assert state["q01"][0] <= state["q10"][0] <= state["q50"][0] <= state["q90"][0] <= state["q99"][0]
    assert rows["matrix"]["names"] == ["[0]", "[1]"]
    assert rows["observation.images.front"]["names"] == ["red", "green", "blue"]
    assert "timestamp" not in rows


def test_an_episode_is_shown_frame_by_frame(root: Path) -> None:
    data = episode(root, 2)
    numbers = {feature["name"]: feature for feature in data["numbers"]}
    assert numbers["observation.state"]["values"][0] == list(range(36))
    assert numbers["observation.state"]["values"][1] == [20] * 36
    assert numbers["action"]["values"][2][3] is None
    assert len(numbers["matrix"]["values"]) == 4
    assert "frame_index" not in numbers
    assert (data["outcome"], data["reward"]) == ("f", 18)
    assert data["neighbours"] == {"previous": 1, "next": 3}


def test_an_episode_knows_its_part_of_each_video_file(root: Path) -> None:
    front, _, picture = episode(root, 2)["cameras"]
    assert front["from"] == pytest.approx((24 + 30) / 20)
    assert front["to"] == pytest.approx((24 + 30 + 36) / 20)
    assert (front["codec"], front["width"], front["height"]) == ("h264", 64, 48)
    assert picture["kind"] == "image"


def test_words_are_told_where_they_change(root: Path) -> None:
    texts = {text["name"]: text["runs"] for text in episode(root, 0)["texts"]}
    assert texts["task"] == [(0, "look"), (12, "take the block")]
    assert texts["note"] == [(0, "note 0"), (10, "note 1"), (20, "note 2")]
    assert "task" not in {text["name"] for text in episode(root, 1)["texts"]}


def test_long_episodes_are_thinned_out(tmp_path: Path) -> None:
    features = {"action": DatasetFeature("float32", (1,))}
    data = episode(make_dataset(tmp_path / "long", [9000], features), 0)
    (action,) = data["numbers"]
    assert action["every"] == 3
    assert len(action["values"][0]) == 3000
    assert data["steps"] == 9000


def test_a_dataset_that_lerobot_wrote_is_shown() -> None:
    golden = GOLDEN / "data"
    data = page(golden)
    assert data["damage"] == []
    assert len(data["lists"]["outcome"]) == data["episodes"]
    assert {row["feature"] for row in data["statistics"]} >= {"observation.state", "action", "observation.images.top"}
    assert episode(golden, 1)["cameras"][0]["codec"] == "av1"


def test_an_old_dataset_has_statistics_without_quantiles(tmp_path: Path) -> None:
    data = page(make_v21(tmp_path / "old"))
    assert "q50" not in data["statistics"][0]
    assert data["statistics"][0]["mean"]
    assert episode(tmp_path / "old", 2)["cameras"][0]["from"] == 0


def test_damaged_files_are_named_and_the_rest_is_shown(root: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(root, broken)
    (data_file,) = broken.glob("data/*/*.parquet")
    data_file.write_bytes(data_file.read_bytes()[:-100])
    (front,) = broken.glob("videos/observation.images.front/*/*.mp4")
    front.write_bytes(b"nonsense")
    (wrist,) = broken.glob("videos/observation.images.wrist/*/*.mp4")
    wrist.unlink()
    data = page(broken)
    assert data["lists"]["outcome"] == "fsfs"
    for path, said in ((data_file, "is damaged"), (front, "is damaged"), (wrist, "is missing")):
        assert any(str(path) in problem and said in problem for problem in data["damage"]), data["damage"]
    shown = episode(broken, 1)
    assert str(data_file) in shown["problem"]
    assert shown["numbers"] == []
    assert str(front) in shown["cameras"][0]["problem"]
    assert str(wrist) in shown["cameras"][1]["problem"]


def test_a_video_that_is_too_short_is_said(root: Path, tmp_path: Path) -> None:
    short = tmp_path / "short"
    shutil.copytree(root, short)
    shown_dataset(tmp_path / "other", [6])
    (front,) = short.glob("videos/observation.images.front/*/*.mp4")
    shutil.copy(next((tmp_path / "other").glob("videos/observation.images.front/*/*.mp4")), front)
    assert "cut short" in episode(short, 2)["cameras"][0]["cut_short"]
    assert "cut_short" not in episode(short, 2)["cameras"][1]


def test_an_episode_of_a_robot_shows_what_its_loop_measured(tmp_path: Path) -> None:
    def missed_one(own: MeasuredTimes) -> MeasuredTimes:
        after = np.arange(len(own)) >= 2
        moved = {name: getattr(own, name) + after / FPS for name in ("due_s", "began_s", "joints_s", "sent_s")}
        return replace(own, tick=own.tick + after, **moved)

    shown = episode(record(tmp_path / "own", {0: missed_one}), 0)["numbers"]
    asked, timing = (feature for feature in shown if feature["name"] in ("action asked for", "timing, ms"))
    assert asked["names"] == ["x", "y"]
    assert timing["names"] == ["turn began late by", "period's error", "age of front's picture"]
    late, error, age = timing["values"]
    assert set(late) == {1.0}
    assert np.allclose(error, 0, atol=1e-6)  # a turn that is missed is no late one: the next begins on the grid
    assert age[0] == 20.0
    assert age[2] == pytest.approx(20 + 1000 / FPS)


@pytest.mark.parametrize("damage", ["cut", "other length"])
def test_measured_times_that_cannot_be_read_are_not_shown(damage: str, tmp_path: Path) -> None:
    root = record(tmp_path / "own")
    if damage == "cut":
        measured_file(root, 0).write_bytes(b"PAR1")
    else:
        write_measured(root, 0, times(0, 3))
    shown = episode(root, 0)
    assert "problem" not in shown
    assert all(feature["name"] != "timing, ms" for feature in shown["numbers"])


@pytest.mark.parametrize(
    ("feature", "names"),
    [
        (DatasetFeature("float32", (2,), ["a", "b"]), ["a", "b"]),
        (DatasetFeature("float32", (2,), {"motors": ["a", "b"]}), ["a", "b"]),
        (DatasetFeature("float32", (2,), {"b": 1, "a": 0}), ["a", "b"]),
        (
            DatasetFeature("float32", (4,), {"left": ["x", "y"], "right": ["x", "y"]}),
            ["left x", "left y", "right x", "right y"],
        ),
        (DatasetFeature("float32", (2,), ["only one"]), ["[0]", "[1]"]),
        (DatasetFeature("float32", (2,), None), ["[0]", "[1]"]),
        (DatasetFeature("bool", (1,), None), [""]),
    ],
)
def test_numbers_have_the_names_that_lerobot_gives_them(feature: DatasetFeature, names: list[str]) -> None:
    assert dimension_names(feature) == names
