"""Where an arm's hand is, given its joints: forward kinematics from a URDF file, without meshes or physics."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.errors import UsageError, nearest

__all__ = ["Kinematics"]

Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint of the chain: where it is on its parent, and what moves about which axis."""

    name: str
    parent: str
    kind: str
    origin: Matrix
    axis: Matrix

    def pose(self, degrees: float) -> Matrix:
        """Where its child is."""
        if self.kind == "fixed":
            return self.origin
        turned = np.eye(4)
        turned[:3, :3] = _about(self.axis, math.radians(degrees))
        return self.origin @ turned


class Kinematics:
    """The joints between an arm's base and one of its frames."""

    def __init__(self, chain: list[Joint]) -> None:
        self._chain = chain
        self.joints = [joint.name for joint in chain if joint.kind != "fixed"]

    @classmethod
    def from_urdf(cls, path: Path, frame: str) -> Kinematics:
        """Read the way from the base to a frame."""
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise UsageError(f"cannot read the URDF file {path}: {error}") from None
        by_child = {_link(joint, "child"): joint for joint in root.findall("joint")}
        links = [str(link.get("name")) for link in root.findall("link")]
        if frame not in links:
            raise UsageError(f"{path} has no frame '{frame}'{nearest(frame, links)} it has {', '.join(links)}")
        chain: list[Joint] = []
        while frame in by_child:
            chain.append(_joint(by_child[frame], path))
            frame = chain[-1].parent
        return cls(chain[::-1])

    def position(self, degrees: Mapping[str, float]) -> Matrix:
        """Where the frame is, in metres, for these joints."""
        return self.pose(degrees)[:3, 3]

    def pose(self, degrees: Mapping[str, float]) -> Matrix:
        """The frame's pose in its base's frame, for these joints."""
        pose = np.eye(4)
        for joint in self._chain:
            pose = pose @ joint.pose(degrees.get(joint.name, 0.0))
        return pose


def _joint(element: ElementTree.Element, path: Path) -> Joint:
    name, kind = str(element.get("name")), str(element.get("type"))
    if kind not in ("fixed", "revolute", "continuous"):
        raise UsageError(f"{path}: joint '{name}' is {kind}; only joints that turn are understood")
    origin, axis = element.find("origin"), element.find("axis")
    place = np.eye(4)
    if origin is not None:
        roll, pitch, yaw = _numbers(origin.get("rpy"), path)
        x, y, z = np.eye(3)
        place[:3, :3] = _about(z, yaw) @ _about(y, pitch) @ _about(x, roll)
        place[:3, 3] = _numbers(origin.get("xyz"), path)
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis.get("xyz"), path)
    return Joint(name, _link(element, "parent"), kind, place, direction)


def _link(joint: ElementTree.Element, which: str) -> str:
    found = joint.find(which)
    return "" if found is None else str(found.get("link"))


def _numbers(text: str | None, path: Path) -> Matrix:
    try:
        numbers = np.array([float(word) for word in (text or "0 0 0").split()])
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (3,):
        raise UsageError(f"{path}: '{text}' should be three numbers")
    return numbers


def _about(axis: Matrix, radians: float) -> Matrix:
    """A rotation about an axis."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Matrix = np.eye(3) + math.sin(radians) * cross + (1 - math.cos(radians)) * cross @ cross
    return turned
