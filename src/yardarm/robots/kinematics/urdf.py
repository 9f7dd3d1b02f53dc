"""Kinematics from a URDF file, without meshes or physics."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from yardarm.errors import UsageError, nearest
from yardarm.robots.kinematics.chain import Joint, Kinematics, Matrix
from yardarm.robots.kinematics.rotation import about

__all__ = ["read_urdf"]

KINDS = ("fixed", "revolute", "continuous")


def read_urdf(path: Path, frame: str) -> Kinematics:
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
        chain.append(_joint(by_child.pop(frame), path))  # removed: a file whose links go in a circle has an end
        frame = chain[-1].parent
    return Kinematics(chain[::-1])


def _joint(element: ElementTree.Element, path: Path) -> Joint:
    name, kind = str(element.get("name")), str(element.get("type"))
    if kind not in KINDS:
        raise UsageError(f"{path}: joint '{name}' is {kind}; only joints that turn are understood")
    origin, axis = element.find("origin"), element.find("axis")
    place = np.eye(4)
    if origin is not None:
        roll, pitch, yaw = _numbers(origin.get("rpy"), path)
        x, y, z = np.eye(3)
        place[:3, :3] = about(z, yaw) @ about(y, pitch) @ about(x, roll)
        place[:3, 3] = _numbers(origin.get("xyz"), path)
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else _numbers(axis.get("xyz"), path)
    if kind == "fixed":
        return Joint(name, _link(element, "parent"), kind, place, direction)
    length = float(np.linalg.norm(direction))
    if not length:
        raise UsageError(f"{path}: joint '{name}' turns about no axis")
    low, high = _limits(element, kind, path)
    return Joint(name, _link(element, "parent"), kind, place, direction / length, low, high)


def _limits(element: ElementTree.Element, kind: str, path: Path) -> tuple[float, float]:
    """The ends of a joint, in degrees."""
    limit = element.find("limit")
    if kind == "continuous" or limit is None:
        return -math.inf, math.inf
    words = limit.get("lower", "0"), limit.get("upper", "0")
    try:
        low, high = (math.degrees(float(word)) for word in words)
    except ValueError:
        low, high = math.nan, math.nan
    if not low <= high:
        raise UsageError(f"{path}: joint '{element.get('name')}' goes from '{words[0]}' to '{words[1]}'")
    return low, high


def _link(joint: ElementTree.Element, which: str) -> str:
    found = joint.find(which)
    return "" if found is None else str(found.get("link"))


def _numbers(text: str | None, path: Path) -> Matrix:
    try:
        numbers = np.array([float(word) for word in (text or "0 0 0").split()])
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise UsageError(f"{path}: '{text}' should be three numbers")
    return numbers
