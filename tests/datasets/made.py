"""Small datasets, written by the real writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter, VideoEncoding

GOLDEN = Path(__file__).parents[1] / "golden" / "dataset_v3"
FPS = 10
STATE = DatasetFeature("float32", (4,), ["x", "y", "z", "gripper"])
VIDEO = DatasetFeature("video", (32, 48, 3), ["height", "width", "channels"])
PICTURE = DatasetFeature("image", (16, 24, 3), ["height", "width", "channels"])
PLAIN = {
    "observation.state": STATE,
    "action": DatasetFeature("float32", (2,)),
    "next.success": DatasetFeature("bool", (1,)),
}
WITH_VIDEO = {**PLAIN, "observation.images.top": VIDEO}
WITH_ALL = {
    **WITH_VIDEO,
    "observation.images.wrist": PICTURE,
    "matrix": DatasetFeature("float64", (2, 3)),
    "note": DatasetFeature("string", (1,)),
}
# Quick to encode, and near enough to tell any frame from any other.
FAST = VideoEncoding("h264", crf=20)


def value_of(name: str, feature: DatasetFeature, episode: int, frame: int) -> Any:
    """A value that tells where it is from."""
    if feature.dtype == "string":
        return f"{name} {episode}/{frame}"
    if feature.is_visual:
        return picture(feature, episode, frame)
    generator = np.random.default_rng([episode, frame, len(name)])
    return (generator.normal(size=feature.shape) * 10).astype(feature.dtype)


def picture(feature: DatasetFeature, episode: int, frame: int) -> np.ndarray:
    """A grey that rises with the frame, with a bright square whose place tells the episode."""
    height, width = feature.size
    pixels = np.full((height, width, 3), 20 + 8 * (frame % 20), np.uint8)
    left = 4 * (episode % (width // 4))
    pixels[:8, left : left + 4] = 250
    return pixels


def frame_of(
    features: Mapping[str, DatasetFeature], episode: int, frame: int, task: str | None = None
) -> dict[str, Any]:
    """A whole frame."""
    values = {name: value_of(name, feature, episode, frame) for name, feature in features.items()}
    return {**values, "task": task or f"task {episode % 2}"}


def write_episodes(writer: DatasetWriter, features: Mapping[str, DatasetFeature], lengths: Sequence[int]) -> None:
    """Append episodes of these lengths."""
    for length in lengths:
        episode = writer.num_episodes
        for frame in range(length):
            writer.add_frame(frame_of(features, episode, frame))
        writer.save_episode()


def make_dataset(
    root: Path,
    lengths: Sequence[int] = (5, 3, 7),
    features: Mapping[str, DatasetFeature] = WITH_VIDEO,
    encoding: VideoEncoding = FAST,
    **settings: Any,
) -> Path:
    """A dataset whose every value tells where it is from."""
    with DatasetWriter.create(root, DatasetInfo(FPS, features, "toy", **settings), encoding) as writer:
        write_episodes(writer, features, lengths)
    return root
