from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.made import PLAIN, WITH_VIDEO, make_dataset
from yardarm.datasets import DatasetLoader, ImageTransforms, ImageTransformsConfig, LeRobotDataset
from yardarm.datasets.loading import frame_order
from yardarm.errors import UsageError


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LeRobotDataset:
    return LeRobotDataset(root=make_dataset(tmp_path_factory.mktemp("loading") / "made", [7, 4, 9, 5], PLAIN))


def rows(batches: Any) -> list[list[int]]:
    return [batch["index"].tolist() for batch in batches]


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    shuffle=st.sampled_from(["frames", "episodes", "none"]),
    seed=st.integers(0, 99),
    epoch=st.integers(0, 9),
)
def test_an_epoch_has_each_frame_once(lengths: list[int], shuffle: str, seed: int, epoch: int) -> None:
    bounds = np.cumsum([0, *lengths])
    order = frame_order(bounds, shuffle, seed, epoch)
    assert sorted(order.tolist()) == list(range(sum(lengths)))
    assert np.array_equal(order, frame_order(bounds, shuffle, seed, epoch))
    if shuffle == "episodes":  # frames of an episode follow one another
        jumps = [row for before, row in pairwise(order) if row != before + 1]
        assert set(jumps) <= set(bounds.tolist())


def test_epochs_differ_and_the_last_frames_can_be_left_out(plain: LeRobotDataset) -> None:
    bounds = plain.episode_bounds
    assert frame_order(bounds, "frames", 0, 0).tolist() != frame_order(bounds, "frames", 0, 1).tolist()
    assert frame_order(bounds, "none", 0, 0, drop_last=4).tolist() == [0, 1, 2, 11, 12, 13, 14, 15, 20]


@pytest.mark.parametrize("shuffle", ["frames", "episodes", "none"])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_loader_goes_on_at_the_very_sample(plain: LeRobotDataset, shuffle: str, workers: int) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 3, "num_workers": workers}
    loader = DatasetLoader(plain, 4, **options)
    assert len(loader) == 7
    expected = rows(loader) + rows(loader) + rows(loader)
    for stop in (0, 3, 7, 10):
        first = DatasetLoader(plain, 4, **options)
        batches = first.forever()
        before = rows(next(batches) for _ in range(stop))
        second = DatasetLoader(plain, 4, **options)
        second.load_state_dict(first.state_dict())
        rest = second.forever()
        assert before + rows(next(rest) for _ in range(21 - stop)) == expected


def test_the_number_of_workers_changes_nothing_not_even_random_transforms(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [6, 5], WITH_VIDEO)
    transforms = ImageTransforms(ImageTransformsConfig(enable=True, random_order=True))
    dataset = LeRobotDataset(root=tmp_path / "made", image_transforms=transforms)
    plain = LeRobotDataset(root=tmp_path / "made")
    key = "observation.images.top"
    passes = []
    for workers in (0, 1, 2):
        torch.manual_seed(workers)  # what else is random does not matter
        loader = DatasetLoader(dataset, 3, seed=1, num_workers=workers)
        passes.append([torch.cat([batch[key] for batch in loader]) for _ in range(2)])
    first, *others = passes
    assert all(torch.equal(one, other) for own in others for one, other in zip(first, own, strict=True))
    assert not torch.equal(first[0], first[1])  # another epoch has other transforms
    order = frame_order(dataset.episode_bounds, "frames", 1, 0)
    assert not torch.equal(first[0], torch.stack([plain[int(row)][key] for row in order]))


def test_a_batch_that_is_not_full_can_be_left_out(plain: LeRobotDataset) -> None:
    assert [len(batch) for batch in rows(DatasetLoader(plain, 4))] == [4] * 6 + [1]
    assert [len(batch) for batch in rows(DatasetLoader(plain, 4, drop_last=True))] == [4] * 6


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"shuffle": "frame"}, "did you mean 'frames'"),
        ({"shuffle": True}, "one of frames, episodes, none"),
        ({"num_workers": -1}, "num_workers must be at least 0"),
        ({"batch_size": 26, "drop_last": True}, "25 frames are too few for a batch"),
        ({"drop_n_last_frames": 9}, "25 frames are too few for a batch"),
    ],
)
def test_bad_options_are_named(plain: LeRobotDataset, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        DatasetLoader(plain, **{"batch_size": 4, **options})


def test_a_place_beyond_the_end_is_refused(plain: LeRobotDataset) -> None:
    with pytest.raises(UsageError, match="batch 9 of an epoch, but an epoch now has 7"):
        DatasetLoader(plain, 4).load_state_dict({**DatasetLoader(plain, 4).state_dict(), "batch": 9})


def test_the_generator_of_the_training_is_left_alone(plain: LeRobotDataset) -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    list(DatasetLoader(plain, 4))
    assert torch.equal(torch.rand(3), expected)


def test_a_place_of_another_batch_size_is_refused(plain: LeRobotDataset) -> None:
    with pytest.raises(UsageError, match="saved with batch_size=4, but now it is 5"):
        DatasetLoader(plain, 5).load_state_dict(DatasetLoader(plain, 4).state_dict())
    with pytest.raises(UsageError, match="saved with seed=0, but now it is 5"):
        DatasetLoader(plain, 4, seed=5).load_state_dict(DatasetLoader(plain, 4).state_dict())


def test_many_frames_of_numbers_at_once_are_the_same_as_one_by_one(tmp_path: Path) -> None:
    from torch.utils.data import default_collate

    windows = {"action": [-0.2, 0.0, 0.3], "observation.state": [0.0]}
    root = make_dataset(tmp_path / "data", (5, 3, 7), PLAIN)
    dataset = LeRobotDataset(root=root, delta_timestamps=windows, episodes=[0, 2])
    rows = [11, 0, 4, 5, 3, 3]
    together, apart = dataset.__getitems__(rows), default_collate([dataset[row] for row in rows])
    assert isinstance(together, dict)
    assert together.keys() == apart.keys()
    for name, value in together.items():
        if name == "task":
            assert value == apart[name]
        else:
            assert value.dtype == apart[name].dtype
            assert torch.equal(value, apart[name]), name
