"""A dataset that has something of everything that pages show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.datasets.made import FAST
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter, VideoEncoding

FPS = 20
FEATURES = {
    "observation.state": DatasetFeature("float32", (3,), {"motors": ["pan", "lift", "gripper"]}),
    "action": DatasetFeature("float32", (3,)),
    "matrix": DatasetFeature("float32", (2, 2)),
    "observation.images.front": DatasetFeature("video", (48, 64, 3)),
    "observation.images.wrist": DatasetFeature("video", (48, 64, 3)),
    "observation.image": DatasetFeature("image", (24, 32, 3)),
    "note": DatasetFeature("string", (1,)),
    "next.reward": DatasetFeature("float32", (1,)),
    "next.success": DatasetFeature("bool", (1,)),
}
LENGTHS = (24, 30, 36, 18)


def shown_dataset(root: Path, lengths: Sequence[int] = LENGTHS, encoding: VideoEncoding = FAST) -> Path:
    """Write it: each second episode succeeds; all videos are in one file for each camera."""
    with DatasetWriter.create(root, DatasetInfo(FPS, FEATURES, "toy_arm"), encoding) as writer:
        for episode, length in enumerate(lengths):
            for frame in range(length):
                task = "push the block" if episode % 2 else ("look" if frame < length // 2 else "take the block")
                writer.add_frame(
                    {
                        "observation.state": np.array([frame, 10 * episode, -frame], np.float32),
                        "action": np.array([frame + 1, 5, np.nan if frame == 3 else 0], np.float32),
                        "matrix": np.full((2, 2), frame, np.float32),
                        "observation.images.front": grey(48, 64, episode),
                        "observation.images.wrist": grey(48, 64, episode),
                        "observation.image": grey(24, 32, frame),
                        "note": f"note {frame // 10}",
                        "next.reward": np.array([0.5], np.float32),
                        "next.success": np.array([episode % 2 == 1 and frame == length - 1]),
                        "task": task,
                    }
                )
            writer.save_episode()
    return root


def grey(height: int, width: int, number: int) -> np.ndarray:
    """A picture whose brightness tells a number."""
    return np.full((height, width, 3), 40 + 6 * number, np.uint8)
