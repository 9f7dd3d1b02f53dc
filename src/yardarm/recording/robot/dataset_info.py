"""The features of a robot's dataset: those that LeRobot derives."""

from __future__ import annotations

from typing import Protocol

from yardarm.datasets import DatasetFeature, DatasetInfo
from yardarm.recording.robot.job import IMAGES
from yardarm.recording.robot.tick_layout import Featured, TickLayout

__all__ = ["robot_dataset_info"]

AXES = ["height", "width", "channels"]


class Named(Featured, Protocol):
    """A robot that says what it is."""

    @property
    def robot_type(self) -> str:
        """Its kind, as datasets name it."""


def robot_dataset_info(robot: Named, fps: int, video: bool = True) -> DatasetInfo:
    """What is recorded of a robot; it need not be connected."""
    layout = TickLayout.of(robot)
    features = {
        "action": DatasetFeature("float32", (len(layout.action),), list(layout.action)),
        "observation.state": DatasetFeature("float32", (len(layout.state),), list(layout.state)),
    }
    for name, shape in layout.cameras.items():
        info = {"is_depth_map": shape[-1] == 1}
        features[f"{IMAGES}{name}"] = DatasetFeature("video" if video else "image", shape, AXES, info)
    return DatasetInfo(fps, features, robot.robot_type)
