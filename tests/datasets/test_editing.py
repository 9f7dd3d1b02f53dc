"""Edits of datasets, each read back frame by frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datasets.frames_of import assert_same_episodes, episodes_of, snapshot
from tests.datasets.made import GOLDEN, PLAIN, WITH_ALL, WITH_VIDEO, frame_of, make_dataset
from yardarm.datasets import (
    INDEX_FEATURES,
    DatasetFeature,
    DatasetInfo,
    DatasetMetadata,
    DatasetWriter,
    read_metadata,
    rollouts_file,
)
from yardarm.datasets.editing import (
    add_feature,
    delete_episodes,
    describe_dataset,
    merge_datasets,
    recompute_stats,
    remove_features,
    rename_task,
    split_dataset,
)
from yardarm.datasets.editing.reading import EpisodeReader
from yardarm.datasets.editing.splitting import episodes_of_splits
from yardarm.datasets.statistics import number_stats
from yardarm.errors import DatasetFault, UsageError

LENGTHS = (5, 3, 7, 4, 6)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with features of all kinds, which no edit may change."""
    return make_dataset(tmp_path_factory.mktemp("source") / "data", LENGTHS, WITH_ALL)


@pytest.fixture(scope="module")
def episodes(source: Path) -> list[dict[str, Any]]:
    return episodes_of(source)


def stats_of(meta: DatasetMetadata) -> list[Any]:
    reader = EpisodeReader(meta)
    return [reader.stats(episode) for episode in meta.episodes]


def test_deleted_episodes_are_gone_and_the_others_are_the_same(source: Path, episodes: list[Any]) -> None:
    before = snapshot(source)
    meta = delete_episodes(source, [3, 1], Path("less"))
    assert_same_episodes(episodes_of(Path("less")), [episodes[0], episodes[2], episodes[4]])
    assert (meta.total_episodes, meta.total_frames) == (3, 18)
    assert meta.tasks == ("task 0",)  # nobody has the other one any more
    assert snapshot(source) == before


def test_episodes_keep_their_statistics_and_indices_get_new_ones(source: Path) -> None:
    old = stats_of(read_metadata(source))
    meta = delete_episodes(source, [0], Path("less"))
    for kept, was in zip(stats_of(meta), old[1:], strict=True):
        assert set(kept) == set(was)
        for name in set(kept) - set(INDEX_FEATURES):
            for kind in was[name]:
                np.testing.assert_array_equal(kept[name][kind], was[name][kind])
    assert stats_of(meta)[0]["index"]["max"] == 2
    assert stats_of(meta)[1]["episode_index"]["mean"] == 1
    assert meta.stats["index"]["max"] == sum(LENGTHS[1:]) - 1
    assert meta.stats["action"]["count"] == sum(LENGTHS[1:])


def test_a_recording_goes_on_after_an_edit(source: Path, episodes: list[Any]) -> None:
    delete_episodes(source, [0, 1, 2], Path("less"))
    with DatasetWriter.resume("less") as writer:
        for number in range(4):
            writer.add_frame(frame_of(WITH_ALL, 9, number))
        writer.save_episode()
    found = episodes_of(Path("less"))
    assert_same_episodes(found[:2], episodes[3:])
    assert len(found) == 3


def test_a_split_by_shares_takes_episodes_in_order(source: Path, episodes: list[Any]) -> None:
    parts = split_dataset(source, {"train": 0.6, "val": 0.2, "test": 0.2}, Path("parts"))
    assert [meta.total_episodes for meta in parts.values()] == [3, 1, 1]
    assert_same_episodes(episodes_of(Path("parts/train")), episodes[:3])
    assert_same_episodes(episodes_of(Path("parts/val")), episodes[3:4])
    assert_same_episodes(episodes_of(Path("parts/test")), episodes[4:])


@pytest.mark.parametrize(
    ("shares", "expected"),
    [((0.7, 0.3), (3, 2)), ((0.5, 0.5), (2, 3)), ((0.4, 0.4), (2, 2)), ((0.2, 0.2, 0.6), (1, 1, 3)), ((1.0,), (5,))],
)
def test_shares_are_rounded_as_lerobot_does(source: Path, shares: tuple[float, ...], expected: tuple[int, ...]) -> None:
    splits = {f"part{number}": share for number, share in enumerate(shares)}
    chosen = episodes_of_splits(read_metadata(source), splits)
    assert tuple(map(len, chosen.values())) == expected
    assert [number for part in chosen.values() for number in part] == list(range(sum(expected)))


@st.composite
def partitions(draw: st.DrawFn) -> list[list[int]]:
    """Episodes dealt out to two parts or three, none of them empty."""
    numbers = draw(st.permutations(range(len(LENGTHS))))
    cuts = sorted(draw(st.sets(st.integers(1, len(LENGTHS) - 1), min_size=1, max_size=2)))
    return [sorted(numbers[start:stop]) for start, stop in zip([0, *cuts], [*cuts, len(LENGTHS)], strict=True)]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=partitions())
def test_what_is_split_and_merged_is_the_same_again(
    parts: list[list[int]], source: Path, episodes: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("law")
    names = [f"part{number}" for number in range(len(parts))]
    split_dataset(source, dict(zip(names, parts, strict=True)), folder / "parts")
    merge_datasets([folder / "parts" / name for name in names], folder / "whole")
    expected = [episodes[number] for part in parts for number in part]
    assert_same_episodes(episodes_of(folder / "whole"), expected)


def test_merged_tasks_are_united_by_their_words(source: Path, episodes: list[Any]) -> None:
    with DatasetWriter.create("other", DatasetInfo(10, WITH_ALL, "toy")) as writer:
        for number in range(3):
            writer.add_frame(frame_of(WITH_ALL, 0, number, task="task 1" if number else "another"))
        writer.save_episode()
    meta = merge_datasets([source, Path("other")], Path("both"))
    assert meta.tasks == ("task 0", "task 1", "another")
    assert meta.episodes[-1].tasks == ("another", "task 1")
    assert_same_episodes(episodes_of(Path("both")), [*episodes, *episodes_of(Path("other"))])


@pytest.mark.parametrize(
    ("features", "settings", "expected"),
    [
        (PLAIN, {}, "has the feature 'observation.images.top', but b does not"),
        (
            {**WITH_VIDEO, "actions": PLAIN["action"]},
            {},
            "b has the feature 'actions', but .* does not; `yardarm dataset remove-feature b --names=actions",
        ),
        (
            {**WITH_VIDEO, "action": DatasetFeature("float64", (2,))},
            {},
            "'action' has the dtype float32 in .*, but float64 in b",
        ),
        ({**WITH_VIDEO, "action": DatasetFeature("float32", (3,))}, {}, r"the shape \(2,\) in .*, but \(3,\) in b"),
    ],
)
def test_what_does_not_fit_is_named(
    features: dict[str, DatasetFeature], settings: dict[str, Any], expected: str
) -> None:
    make_dataset(Path("a"), (2,))
    make_dataset(Path("b"), (2,), features, **settings)
    with pytest.raises(UsageError, match=expected):
        merge_datasets([Path("a"), Path("b")], Path("both"))
    assert not Path("both").exists()


def test_different_rates_and_robots_are_named() -> None:
    make_dataset(Path("a"), (2,), PLAIN)
    for name, fps, robot in (("fast", 20, "toy"), ("other", 10, "arm")):
        with DatasetWriter.create(name, DatasetInfo(fps, PLAIN, robot)) as writer:
            writer.add_frame(frame_of(PLAIN, 0, 0))
            writer.save_episode()
    with pytest.raises(UsageError, match="a has 10 frames per second, but fast has 20"):
        merge_datasets([Path("a"), Path("fast")], Path("both"))
    with pytest.raises(UsageError, match=r"different robots \(toy, arm\)"):
        merge_datasets([Path("a"), Path("other")], Path("both"))
    assert merge_datasets([Path("a"), Path("other")], Path("both"), "both arms").robot_type == "both arms"


def test_a_feature_is_added_from_rows_or_from_one_value(source: Path, episodes: list[Any]) -> None:
    rows = np.random.default_rng(0).normal(size=(sum(LENGTHS), 3))
    meta = add_feature(source, "force", DatasetFeature("float32", (3,)), rows, Path("rows"))
    added = episodes_of(Path("rows"))
    found = np.concatenate([episode.pop("force") for episode in added])
    np.testing.assert_array_equal(found, rows.astype(np.float32))
    assert_same_episodes(added, episodes)
    np.testing.assert_allclose(meta.stats["force"]["q90"], np.quantile(rows, 0.9, axis=0))
    add_feature(Path("rows"), "done", DatasetFeature("bool", (1,)), True, Path("constant"))
    assert all(episode["done"].all() for episode in episodes_of(Path("constant")))


def test_removed_cameras_take_their_videos_along(source: Path, episodes: list[Any]) -> None:
    meta = remove_features(source, ["observation.images.top", "note"], Path("less"))
    gone = {"observation.images.top", "note"}
    kept = [{name: value for name, value in episode.items() if name not in gone} for episode in episodes]
    assert_same_episodes(episodes_of(Path("less")), kept)
    assert not list(Path("less").rglob("*.mp4"))
    assert not gone & {*meta.stats, *meta.features}


def test_a_renamed_task_can_join_another(source: Path, episodes: list[Any]) -> None:
    assert rename_task(source, "task 0", "lift", Path("renamed")).tasks == ("lift", "task 1")
    meta = rename_task(Path("renamed"), "task 1", "lift", Path("united"))
    assert (meta.tasks, meta.total_tasks) == (("lift",), 1)
    assert {episode.tasks for episode in meta.episodes} == {("lift",)}
    united = episodes_of(Path("united"))
    assert_same_episodes(united, [{**episode, "task": np.full(len(episode["task"]), "lift")} for episode in episodes])


def test_recomputed_statistics_are_exact(source: Path, episodes: list[Any]) -> None:
    Path(source / "meta" / "stats.json").rename("stats.json")  # it is not needed
    try:
        meta = recompute_stats(source, Path("counted"))
    finally:
        Path("stats.json").rename(source / "meta" / "stats.json")
    for name in ("observation.state", "matrix", "timestamp"):
        expected = number_stats(np.concatenate([episode[name] for episode in episodes]))
        for kind, value in expected.items():
            np.testing.assert_allclose(meta.stats[name][kind], value, rtol=1e-12)
    for name in ("observation.images.top", "observation.images.wrist"):
        pixels = np.concatenate([episode[name] for episode in episodes]).reshape(-1, 3) / 255
        np.testing.assert_allclose(meta.stats[name]["mean"].reshape(3), pixels.mean(axis=0))
        np.testing.assert_allclose(meta.stats[name]["max"].reshape(3), pixels.max(axis=0))
        own = stats_of(meta)[1][name]
        np.testing.assert_allclose(own["mean"].reshape(3), (episodes[1][name] / 255).mean(axis=(0, 1, 2)))
    assert_same_episodes(episodes_of(Path("counted")), episodes)
    some = recompute_stats(source, Path("some"), every=3)
    assert some.stats["observation.images.top"]["count"] == sum(-(-length // 3) for length in LENGTHS)


def test_what_others_keep_beside_a_dataset_is_kept(source: Path) -> None:
    make_dataset(Path("own"), (2, 3), PLAIN)
    Path("own/README.md").write_text("a card")
    Path("own/meta/modality.json").write_text("{}")
    delete_episodes(Path("own"), [0], Path("less"))
    assert Path("less/README.md").read_text() == "a card"
    assert Path("less/meta/modality.json").exists()
    delete_episodes(Path("own"), [0], None)
    assert Path("own/README.md").read_text() == "a card"
    assert read_metadata(Path("own")).total_episodes == 1


def test_where_episodes_are_from_goes_with_them() -> None:
    make_dataset(Path("a"), [2, 3, 2], PLAIN)
    make_dataset(Path("b"), [2], PLAIN)
    rollouts_file(Path("a")).write_text('{"seed": 0}\n{"seed": 1}\n{"seed": 2}\n')
    delete_episodes(Path("a"), [1], Path("less"))
    assert rollouts_file(Path("less")).read_text() == '{"seed": 0}\n{"seed": 2}\n'
    merge_datasets([Path("less"), Path("a")], Path("both"))
    assert rollouts_file(Path("both")).read_text().count("\n") == 5
    merge_datasets([Path("less"), Path("b")], Path("unknown"))
    assert not rollouts_file(Path("unknown")).exists()


def test_data_files_grow_to_the_size_that_is_named() -> None:
    make_dataset(Path("small"), (300,) * 6, PLAIN, data_files_size_in_mb=0.02)
    meta = delete_episodes(Path("small"), [0], Path("less"))
    files = sorted(Path("less/data").rglob("*.parquet"))
    assert len(files) > 1
    assert all(file.stat().st_size < 0.03 * 2**20 for file in files)
    assert [episode.length for episode in meta.episodes] == [300] * 5
    assert_same_episodes(episodes_of(Path("less")), episodes_of(Path("small"))[1:])


def test_lerobots_own_dataset_is_edited() -> None:
    expected = episodes_of(GOLDEN / "data")
    delete_episodes(GOLDEN / "data", [1], Path("less"))
    assert_same_episodes(episodes_of(Path("less")), [expected[0], *expected[2:]])


def test_a_summary_names_what_is_missing_and_left_over(source: Path) -> None:
    make_dataset(Path("own"), (3, 2))
    Path("own/.draft-1-0-0.mp4").write_bytes(b"")
    Path("own/data/chunk-000/file-007.parquet").write_bytes(b"")
    Path(".own.editing-99").mkdir()
    summary = describe_dataset(Path("own"))
    assert [path.name for path in summary.leftovers] == [".draft-1-0-0.mp4", "file-007.parquet", ".own.editing-99"]
    assert (summary.episodes, summary.lengths["median"], summary.missing) == (2, 2.5, [])
    assert summary.codecs == {"observation.images.top": ["h264 yuv420p"]}
    video = next(Path("own").rglob("videos/**/*.mp4"))
    video.unlink()
    assert describe_dataset(Path("own")).missing == [video]


@pytest.mark.parametrize("kind", ["parquet", "mp4"])
@pytest.mark.parametrize("damage", ["gone", "cut short"])
def test_a_damaged_file_is_named(kind: str, damage: str) -> None:
    make_dataset(Path("own"), (3, 2))
    folder = {"parquet": "data", "mp4": "videos"}[kind]
    path = next(Path("own", folder).rglob(f"*.{kind}"))
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DatasetFault, match=str(path)):
        delete_episodes(Path("own"), [0], Path("less"))
    assert sorted(Path().iterdir()) == [Path("own")]


def test_a_row_that_counts_more_frames_than_there_are_is_named(source: Path) -> None:
    make_dataset(Path("one"), (3,), PLAIN)
    make_dataset(Path("two"), (4,), PLAIN)
    path = Path("one/data/chunk-000/file-000.parquet")
    Path("two/data/chunk-000/file-000.parquet").replace(path)
    with pytest.raises(DatasetFault, match=f"{path} has 4 of the 3 frames of episode 0"):
        rename_task(Path("one"), "task 0", "lift", Path("renamed"))
