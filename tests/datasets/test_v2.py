"""Datasets of the versions 2.1 and 2.0: read as they are, converted, edited."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.frames_of import assert_same_episodes, episodes_of, snapshot
from tests.datasets.made import PLAIN, WITH_ALL, make_dataset
from tests.datasets.v21 import make_v21
from yardarm.datasets import DatasetWriter, LeRobotDataset, read_metadata
from yardarm.datasets.editing import convert_dataset, delete_episodes, merge_datasets, recompute_stats
from yardarm.datasets.editing.reading import EpisodeReader
from yardarm.errors import DatasetFault, UsageError

LENGTHS = (5, 3, 7)
TOP = "observation.images.top"


def test_the_old_layout_is_read_in_the_new_nouns() -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL, chunks_size=2)
    meta = read_metadata(Path("old"))
    assert (meta.total_episodes, meta.total_frames, meta.tasks) == (3, 15, ("task 0", "task 1"))
    last = meta.episodes[2]
    assert meta.data_file(last) == Path("old/data/chunk-001/episode_000002.parquet")
    assert meta.video_file(last, TOP) == Path(f"old/videos/chunk-001/{TOP}/episode_000002.mp4")
    assert (last.start, last.stop, last.tasks) == (8, 15, ("task 0",))
    assert meta.stats["action"]["count"] == 15
    assert "q50" not in meta.stats["action"]


def test_frames_are_those_of_the_same_recording_in_the_new_layout() -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL)
    make_dataset(Path("new"), LENGTHS, WITH_ALL)
    assert_same_episodes(episodes_of(Path("old")), episodes_of(Path("new")))


def test_training_reads_it_as_it_is() -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL)
    convert_dataset(Path("old"), Path("new"))
    old, new = LeRobotDataset(root="old"), LeRobotDataset(root="new")
    assert len(old) == len(new) == 15
    for index in (0, 6, 14):
        for name in ("action", TOP, "observation.images.wrist", "matrix"):
            np.testing.assert_array_equal(old[index][name], new[index][name])
        assert old[index]["task"] == new[index]["task"]


@pytest.mark.parametrize("in_place", [False, True])
def test_converting_keeps_every_frame(in_place: bool) -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL, chunks_size=2)
    before, expected = snapshot(Path("old")), episodes_of(Path("old"))
    meta = convert_dataset(Path("old"), None if in_place else Path("new"))
    assert_same_episodes(episodes_of(meta.root), expected)
    assert meta.info.codebase_version == "v3.0"
    assert not {"total_chunks", "total_videos"} & set(meta.info.to_json())
    assert not list(meta.root.rglob("*.jsonl"))
    assert len(list(meta.root.rglob("*.mp4"))) == 1
    assert in_place or snapshot(Path("old")) == before


def test_converting_keeps_statistics_and_adds_quantiles_of_numbers() -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL)
    lines = [json.loads(line) for line in Path("old/meta/episodes_stats.jsonl").read_text().splitlines()]
    meta = convert_dataset(Path("old"), Path("new"))
    reader = EpisodeReader(meta)
    for line, episode in zip(lines, meta.episodes, strict=True):
        stats = reader.stats(episode)
        for name in ("action", "matrix", TOP, "observation.images.wrist"):
            for kind, value in line["stats"][name].items():
                np.testing.assert_allclose(stats[name][kind], value)
        assert "q99" in stats["action"]
    assert "q99" in meta.stats["action"]


def test_what_version_2_0_does_not_count_is_counted() -> None:
    make_v21(Path("old"), LENGTHS, WITH_ALL, version="v2.0")
    meta = convert_dataset(Path("old"), Path("new"))
    counted = recompute_stats(Path("new"), Path("counted"))
    for name in ("action", TOP, "observation.images.wrist"):
        for kind in ("min", "max", "mean", "std", "count"):
            np.testing.assert_allclose(meta.stats[name][kind], counted.stats[name][kind], atol=1e-12)


def test_old_datasets_are_edited_into_new_ones() -> None:
    make_v21(Path("old"), LENGTHS)
    make_dataset(Path("new"), (4, 2))
    expected = episodes_of(Path("old"))
    delete_episodes(Path("old"), [0], Path("less"))
    assert_same_episodes(episodes_of(Path("less")), expected[1:])
    merge_datasets([Path("old"), Path("new")], Path("both"))
    assert_same_episodes(episodes_of(Path("both")), [*expected, *episodes_of(Path("new"))])


def test_a_recording_goes_on_only_in_the_new_version() -> None:
    make_v21(Path("old"), (2,), PLAIN)
    with pytest.raises(UsageError, match="convert it first with `yardarm dataset convert`"):
        DatasetWriter.resume("old")
    with pytest.raises(UsageError, match=r"new already has version v3\.0"):
        convert_dataset(make_dataset(Path("new"), (2,), PLAIN), Path("newer"))


@pytest.mark.parametrize("name", ["tasks", "episodes", "episodes_stats"])
def test_a_damaged_line_is_named(name: str) -> None:
    make_v21(Path("old"), (2, 3), PLAIN)
    path = Path(f"old/meta/{name}.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5]]))
    with pytest.raises(DatasetFault, match=f"{path} is damaged in line 2"):
        read_metadata(Path("old"))
    path.write_text('{"other": 1}\n')
    with pytest.raises(DatasetFault, match=f"{path} is damaged in line 1: .*_index is missing"):
        read_metadata(Path("old"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("meta/tasks.jsonl", "is missing"),
        ("meta/episodes.jsonl", "is missing"),
        ("data/chunk-000/episode_000001.parquet", "is missing"),
        (f"videos/chunk-000/{TOP}/episode_000001.mp4", "is missing"),
    ],
)
def test_a_missing_file_is_named(path: str, expected: str) -> None:
    make_v21(Path("old"), (2, 3))
    Path("old", path).unlink()
    with pytest.raises(DatasetFault, match=f"old/{path} {expected}"):
        convert_dataset(Path("old"), Path("new"))
    assert not Path("new").exists()


def test_missing_episodes_are_named() -> None:
    make_v21(Path("old"), (2, 3, 2), PLAIN)
    path = Path("old/meta/episodes.jsonl")
    path.write_text(path.read_text().splitlines()[1] + "\n")
    with pytest.raises(DatasetFault, match="lacks 2 of 3 episodes: 0, 2"):
        read_metadata(Path("old"))
