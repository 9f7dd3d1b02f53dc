from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from tests.datasets.made import GOLDEN, WITH_ALL, make_dataset
from yardarm.datasets import LeRobotDataset, StreamingLeRobotDataset, streaming
from yardarm.errors import UsageError

WINDOWS = {"action": [-0.1, 0.0, 0.3], "observation.images.top": [-0.1, 0.0], "observation.images.wrist": [0.0, 0.2]}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("streaming") / "made", [6, 4, 7, 5], WITH_ALL)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(value, other[name]) if isinstance(value, torch.Tensor) else value == other[name]
        for name, value in one.items()
    )


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("episodes", [None, [0, 2, 3]])
def test_a_stream_has_the_items_of_the_dataset(root: Path, shuffle: bool, episodes: list[int] | None) -> None:
    dataset = LeRobotDataset(root=root, delta_timestamps=WINDOWS)
    by_index = {
        int(item["index"]): item for item in dataset if episodes is None or int(item["episode_index"]) in episodes
    }
    stream = StreamingLeRobotDataset(
        root=root, delta_timestamps=WINDOWS, shuffle=shuffle, buffer_size=5, episodes=episodes
    )
    items = list(stream)
    order = [int(item["index"]) for item in items]
    assert sorted(order) == sorted(by_index)
    assert (order == sorted(order)) is not shuffle
    assert all(same(item, by_index[int(item["index"])]) for item in items)
    assert stream.num_frames == len(items)


def indices(items: Any) -> list[int]:
    return [int(item["index"]) for item in items]


def test_a_stream_is_the_same_for_the_same_seed_and_epoch(root: Path) -> None:
    streams = [StreamingLeRobotDataset(root=root, buffer_size=8, seed=seed) for seed in (1, 1, 2)]
    first, second, other = [indices(stream) for stream in streams]
    assert first == second
    assert first != other
    again = indices(streams[0])
    assert again != first
    streams[1].set_epoch(1)
    assert indices(streams[1]) == again


@pytest.mark.parametrize("persistent", [True, False])
def test_passes_of_workers_differ_unless_they_are_told_which_one_it_is(root: Path, persistent: bool) -> None:
    stream = StreamingLeRobotDataset(root=root, buffer_size=8)
    loader = DataLoader(stream, batch_size=None, num_workers=2, persistent_workers=persistent)
    first, second = indices(loader), indices(loader)
    assert sorted(first) == sorted(second) == list(range(22))
    assert first != second
    stream.set_epoch(5)
    told = indices(loader)
    stream.set_epoch(6)
    other = indices(loader)
    stream.set_epoch(5)
    assert sorted(told) == list(range(22))
    assert indices(loader) == told != other


def test_workers_and_shards_share_the_episodes(root: Path) -> None:
    shards = [
        indices(DataLoader(StreamingLeRobotDataset(root=root, shard=(shard, 2)), batch_size=None, num_workers=2))
        for shard in range(2)
    ]
    assert sorted(shards[0] + shards[1]) == list(range(22))
    assert shards[0]
    assert shards[1]


def test_a_stream_reads_one_episode_at_a_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = streaming.read_frames
    monkeypatch.setattr(
        streaming, "read_frames", lambda *arguments: (read.append(arguments[1]), original(*arguments))[1]
    )
    stream = iter(StreamingLeRobotDataset(root=root, buffer_size=3))
    next(stream)
    assert [len(episodes) for episodes in read] == [1]


def test_lerobots_dataset_is_streamed() -> None:
    assert indices(StreamingLeRobotDataset(root=GOLDEN / "data", shuffle=False)) == list(range(35))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"buffer_size": 0}, "buffer_size must be at least 1"),
        ({"shard": (2, 2)}, "shard must be"),
        ({"episodes": [0, 0]}, "must not be repeated, got 0"),
        ({"video_backend": "pyva"}, "did you mean 'pyav'"),
        ({"image_transforms": "blur"}, "must be a function that takes a picture"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        StreamingLeRobotDataset(root=GOLDEN / "data", **options)
