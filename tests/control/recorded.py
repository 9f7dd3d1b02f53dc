"""Datasets of an arm's episodes, made for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter

JOINTS = [
    f"{name}.pos" for name in ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
]


def write_dataset(
    folder: Path,
    episodes: Sequence[Sequence[Sequence[float]]],
    fps: int = 20,
    names: list[str] = JOINTS,
    state: bool = True,
) -> Path:
    """A dataset whose frames have these actions; each observation is the same as its action."""
    feature = DatasetFeature("float32", (len(names),), list(names))
    features = {"action": feature, **({"observation.state": feature} if state else {})}
    with DatasetWriter.create(folder, DatasetInfo(fps, features, "so_follower")) as writer:
        for episode in episodes:
            for action in episode:
                values = np.array(action, dtype=np.float32)
                writer.add_frame({**dict.fromkeys(features, values), "task": "Wave"})
            writer.save_episode()
    return folder
