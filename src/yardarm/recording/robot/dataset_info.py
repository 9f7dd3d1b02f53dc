"""The description of a robot's dataset: its features are those that LeRobot derives."""

from __future__ import annotations

from yardarm.datasets import DatasetFeature, DatasetInfo
from yardarm.robots import Robot, dataset_features

__all__ = ["robot_dataset_info"]


def robot_dataset_info(robot: Robot, fps: int, video: bool = True) -> DatasetInfo:
    """What is recorded of a robot; it need not be connected."""
    features = dataset_features(robot, video)
    return DatasetInfo(
        fps, {name: DatasetFeature.from_json(feature) for name, feature in features.items()}, robot.robot_type
    )
