"""Distances in datasets: 16-bit pictures, which come back as they were."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter, LeRobotDataset, draft, read_metadata
from yardarm.datasets.browsing import for_browser
from yardarm.datasets.pictures import decode_picture, encode_picture
from yardarm.errors import UsageError
from yardarm.training.data import policy_features

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON")
KEY = "observation.images.front_depth"
SHAPE = (6, 8, 1)
DEPTH = DatasetFeature("image", SHAPE, ["height", "width", "channels"], {"is_depth_map": True, "depth_unit": "mm"})
COLOR = DatasetFeature("image", (6, 8, 3), ["height", "width", "channels"])
FEATURES = {"action": DatasetFeature("float32", (2,)), "observation.images.front": COLOR, KEY: DEPTH}
# From nothing to the farthest that 16 bits can say.
DISTANCES = [np.linspace(turn, 65535 - turn, 48).astype(np.uint16).reshape(SHAPE) for turn in range(5)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("depth") / "made"
    with DatasetWriter.create(root, DatasetInfo(10, FEATURES)) as writer:
        for distances in DISTANCES:
            color = np.zeros((6, 8, 3), np.uint8)
            writer.add_frame({"action": [0.0, 1.0], "observation.images.front": color, KEY: distances, "task": "look"})
        writer.save_episode()
    return root


def test_distances_come_back_exactly(recorded: Path) -> None:
    dataset = LeRobotDataset(root=recorded)
    for distances, item in zip(DISTANCES, dataset, strict=True):
        assert item[KEY].dtype == torch.float32
        np.testing.assert_array_equal(item[KEY].numpy(), distances.transpose(2, 0, 1))  # in millimetres
    info = json.loads((recorded / "meta/info.json").read_text())
    assert info["features"][KEY] == {
        "dtype": "image",
        "shape": [6, 8, 1],
        "names": ["height", "width", "channels"],
        "info": {"is_depth_map": True, "depth_unit": "mm"},
    }


def test_transforms_and_imagenet_leave_distances_alone(recorded: Path) -> None:
    dataset = LeRobotDataset(root=recorded, image_transforms=lambda picture: picture + 1, use_imagenet_stats=True)
    np.testing.assert_array_equal(dataset[0][KEY].numpy(), DISTANCES[0].transpose(2, 0, 1))
    assert dataset[0]["observation.images.front"].min() == 1
    assert dataset.meta.stats[KEY]["mean"].shape == (1, 1, 1)


def test_statistics_are_in_millimetres(recorded: Path) -> None:
    stats = LeRobotDataset(root=recorded).meta.stats[KEY]
    everything = np.stack(DISTANCES)
    assert stats["min"].item() == everything.min()
    assert stats["max"].item() == everything.max()
    assert stats["mean"].item() == pytest.approx(everything.mean())
    assert stats["std"].item() == pytest.approx(everything.std())


def test_policies_are_not_asked_to_see_distances(recorded: Path) -> None:
    inputs, _ = policy_features(LeRobotDataset(root=recorded).meta)
    assert [*inputs] == ["observation.images.front"]


def test_a_recording_can_be_resumed(recorded: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(recorded, tmp_path / "again"))
    with DatasetWriter.resume(root) as writer:
        writer.add_frame(
            {
                "action": [0.0, 1.0],
                "observation.images.front": np.zeros((6, 8, 3), np.uint8),
                KEY: DISTANCES[3][:, :, 0],
                "task": "look",
            }
        )
        writer.save_episode()
    np.testing.assert_array_equal(LeRobotDataset(root=root)[5][KEY].numpy()[0], DISTANCES[3][:, :, 0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(SHAPE, np.uint8), "must be uint16, in millimetres; got uint8"),
        (np.zeros(SHAPE, np.float32), "must be uint16, in millimetres; got float32"),
        (np.zeros((8, 6, 1), np.uint16), r"must have the shape \(6, 8, 1\), got \(8, 6, 1\)"),
    ],
)
def test_what_would_be_rounded_is_refused(value: np.ndarray, message: str, tmp_path: Path) -> None:
    with (
        DatasetWriter.create(tmp_path / "made", DatasetInfo(10, {KEY: DEPTH})) as writer,
        pytest.raises(UsageError, match=message),
    ):
        writer.add_frame({KEY: value, "task": "look"})


def test_a_browser_gets_greys_that_can_be_seen() -> None:
    shown = decode_picture(for_browser(encode_picture(np.full(SHAPE, 700, np.uint16))).content)
    assert shown.shape == (6, 8, 3)
    assert shown.min() == 255
    color = encode_picture(np.zeros((6, 8, 3), np.uint8))
    assert for_browser(color).content == color


def test_depth_that_lerobot_wrote_as_tiff_can_be_read() -> None:
    buffer = io.BytesIO()
    Image.fromarray(DISTANCES[1][:, :, 0]).save(buffer, "TIFF")
    np.testing.assert_array_equal(decode_picture(buffer.getvalue()), DISTANCES[1])


READ = """
import sys
import lerobot
from lerobot.datasets import lerobot_dataset
print(lerobot.__version__)
item = lerobot_dataset.LeRobotDataset("a/b", root=sys.argv[1])[1]
print(item["KEY"].flatten().tolist())
""".replace("KEY", KEY)


@pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no Python with LeRobot (0.6 or later)")
def test_lerobot_reads_distances(recorded: Path) -> None:
    output = subprocess.run([LEROBOT_PYTHON, "-c", READ, str(recorded)], capture_output=True, text=True, check=True)
    if output.stdout.startswith("0.4"):
        pytest.skip("LeRobot 0.4 knows no depth")
    assert json.loads(output.stdout.splitlines()[-1]) == DISTANCES[1].flatten().tolist()


def test_few_pictures_wait_in_memory_however_slowly_they_are_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[None] = []

    def slow(picture: np.ndarray) -> bytes:
        time.sleep(0.002)
        encoded.append(None)
        return encode_picture(picture)

    monkeypatch.setattr(draft, "encode_picture", slow)
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(10, {KEY: DEPTH})) as writer:
        for count in range(1, 3 * draft.MOST_WAITING):
            writer.add_frame({KEY: DISTANCES[0], "task": "look"})
            assert count - len(encoded) <= draft.MOST_WAITING
        writer.save_episode()
    assert read_metadata(tmp_path / "made").total_frames == count
