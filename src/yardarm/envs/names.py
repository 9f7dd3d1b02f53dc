"""Translates observation names between Gymnasium environments and policies, by LeRobot's table.

pixels                → observation.image           agent_pos → observation.state
pixels: {top: …}      → observation.images.top      anything  → observation.anything
robot: {arm: …}       → observation.robot.arm
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.errors import UsageError

__all__ = ["environment_names", "policy_names"]

PREFIX = "observation."
IMAGE, IMAGES, STATE = "observation.image", "observation.images.", "observation.state"


def policy_names(observation: Any, *, is_image: bool = False) -> dict[str, Any]:
    """Flatten an observation, or its space, into a policy's inputs; `is_image` is about one that is not a mapping."""
    if not isinstance(observation, Mapping):
        return {IMAGE if is_image else STATE: observation}
    flat: dict[str, Any] = {}
    for key, value in observation.items():
        if key == "pixels" and isinstance(value, Mapping):
            named = {f"{IMAGES}{camera}": image for camera, image in value.items()}
        elif isinstance(value, Mapping):
            named = _branches(f"{PREFIX}{key}", value)
        else:
            named = {{"pixels": IMAGE, "agent_pos": STATE}.get(key, f"{PREFIX}{key}"): value}
        if taken := flat.keys() & named.keys():
            raise UsageError(f"two entries of the environment's observation would both be named '{min(taken)}'")
        flat.update(named)
    return flat


def environment_names(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Nest a policy's inputs, or their spaces, as an environment does: the reverse of `policy_names`."""
    observation: dict[str, Any] = {}
    for name, value in inputs.items():
        if name.startswith(IMAGES):
            observation.setdefault("pixels", {})[name.removeprefix(IMAGES)] = value
        else:
            observation[{IMAGE: "pixels", STATE: "agent_pos"}.get(name, name.removeprefix(PREFIX))] = value
    return observation


def _branches(prefix: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}.{key}"
        flat.update(_branches(name, value) if isinstance(value, Mapping) else {name: value})
    return flat
