from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.datasets.made import FPS, PLAIN, WITH_VIDEO, make_dataset
from yardarm.datasets import (
    DatasetFeature,
    DatasetInfo,
    DatasetLoader,
    DatasetWriter,
    LeRobotDataset,
    MultiLeRobotDataset,
)
from yardarm.errors import UsageError


def test_several_datasets_are_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_dataset(tmp_path / "a", [4, 3], PLAIN)
    make_dataset(tmp_path / "b", [5], WITH_VIDEO)
    with caplog.at_level(logging.WARNING):
        joined = MultiLeRobotDataset(["a", "b"], tmp_path, delta_timestamps={"action": [0.0, 0.1]})
    assert "b: ignoring observation.images.top, which" in caplog.text
    assert (len(joined), joined.num_episodes, joined.episode_bounds.tolist()) == (12, 3, [0, 4, 7, 12])
    own = [LeRobotDataset(root=tmp_path / name, delta_timestamps={"action": [0.0, 0.1]}) for name in "ab"]
    for row in range(12):
        item, number = joined[row], int(row >= 7)
        assert int(item["dataset_index"]) == number
        expected = own[number][row - 7 * number]
        assert set(item) == set(own[0][0]) | {"dataset_index"}
        assert torch.equal(item["action"], expected["action"])
        assert torch.equal(item["action_is_pad"], expected["action_is_pad"])
        assert item["task"] == expected["task"]
    assert int(joined[-1]["dataset_index"]) == 1
    assert (
        sorted(index for batch in DatasetLoader(joined, 5) for index in batch["dataset_index"].tolist())
        == [0] * 7 + [1] * 5
    )


def test_statistics_are_those_of_all_frames(tmp_path: Path) -> None:
    make_dataset(tmp_path / "a", [4, 3], PLAIN)
    make_dataset(tmp_path / "b", [5], PLAIN)
    joined = MultiLeRobotDataset(["a", "b"], tmp_path)
    actions = np.stack([joined[row]["action"].double().numpy() for row in range(12)])
    assert np.allclose(joined.stats["action"]["mean"], actions.mean(axis=0))
    assert np.allclose(joined.stats["action"]["std"], actions.std(axis=0))
    assert joined.stats["action"]["count"].tolist() == [12]


def test_statistics_without_counts_are_those_of_all_frames(tmp_path: Path) -> None:
    make_dataset(tmp_path / "a", [4, 3], PLAIN)
    make_dataset(tmp_path / "b", [5], PLAIN)
    expected = MultiLeRobotDataset(["a", "b"], tmp_path).stats["action"]["mean"]
    path = tmp_path / "a/meta/stats.json"
    stats = {
        name: {"mean": own["mean"], "std": own["std"], "min": own["min"], "max": own["max"]}
        for name, own in json.loads(path.read_text()).items()
    }
    path.write_text(json.dumps(stats))
    assert np.allclose(MultiLeRobotDataset(["a", "b"], tmp_path).stats["action"]["mean"], expected)
    assert np.allclose(MultiLeRobotDataset(["a", "b"], tmp_path).stats["action"]["count"], 12)


def test_imagenets_statistics_need_none_of_the_datasets(tmp_path: Path) -> None:
    make_dataset(tmp_path / "a", [2], WITH_VIDEO)
    path = tmp_path / "a/meta/stats.json"
    stats = json.loads(path.read_text())
    del stats["observation.images.top"]
    path.write_text(json.dumps(stats))
    joined = MultiLeRobotDataset(["a"], tmp_path, use_imagenet_stats=True)
    assert joined.stats["observation.images.top"].keys() == {"mean", "std"}


def test_episodes_are_chosen_by_dataset(tmp_path: Path) -> None:
    make_dataset(tmp_path / "a", [4, 3], PLAIN)
    make_dataset(tmp_path / "b", [5], PLAIN)
    assert len(MultiLeRobotDataset(["a", "b"], tmp_path, episodes={"a": [1]})) == 8
    with pytest.raises(UsageError, match="selected from 'c'"):
        MultiLeRobotDataset(["a", "b"], tmp_path, episodes={"c": [1]})


def test_what_cannot_stand_in_one_batch_is_named(tmp_path: Path) -> None:
    make_dataset(tmp_path / "a", [2], PLAIN)
    make_dataset(tmp_path / "b", [2], {**PLAIN, "action": DatasetFeature("float32", (3,))})
    with pytest.raises(UsageError, match=r"'action' is float32 \(2,\) in a, but float32 \(3,\) in b"):
        MultiLeRobotDataset(["a", "b"], tmp_path)
    DatasetWriter.create(tmp_path / "c", DatasetInfo(FPS * 2, PLAIN)).finalize()
    with pytest.raises(UsageError, match="c has 20 frames per second, but a has 10"):
        MultiLeRobotDataset(["a", "c"], tmp_path)
