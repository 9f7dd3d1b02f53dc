"""What a dataset of a robot has: LeRobot's features, from the robot's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.robots.device import Features
from yardarm.robots.robot import Robot

__all__ = ["dataset_features"]

PICTURES = "observation.images."
AXES = ["height", "width", "channels"]


def dataset_features(robot: Robot, use_videos: bool = True) -> dict[str, dict[str, Any]]:
    """The features of recordings of a robot, as in a dataset's `info.json`; depth is kept as 16-bit pictures."""
    return {
        **_numbers("observation.state", robot.observation_features),
        **_pictures(robot.observation_features, use_videos),
        **_numbers("action", robot.action_features),
    }


def _numbers(name: str, features: Features) -> dict[str, Any]:
    names = [own for own, kind in features.items() if kind is float]
    return {name: {"dtype": "float32", "shape": [len(names)], "names": names}} if names else {}


def _pictures(features: Mapping[str, Any], use_videos: bool) -> dict[str, Any]:
    pictures = {}
    for name, shape in features.items():
        if isinstance(shape, tuple):
            is_depth = shape[2] == 1
            info = {"is_depth_map": True, "depth_unit": "mm"} if is_depth else {"is_depth_map": False}
            kind = "video" if use_videos and not is_depth else "image"  # a video would round distances
            pictures[f"{PICTURES}{name}"] = {"dtype": kind, "shape": list(shape), "names": list(AXES), "info": info}
    return pictures
