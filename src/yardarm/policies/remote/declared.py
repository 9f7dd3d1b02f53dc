"""What a server declares, held against the environment before anything starts.

A policy with another convention of actions than the environment's scores 0%, and nothing else tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.tasks import TaskSpec

__all__ = ["complaints", "wanted_by"]

# What a benchmark's actions mean, in vla-eval's words; of Meta-World it does not speak itself. A server may leave them
# open, as "raw".
ACTIONS: Mapping[str, Mapping[str, str]] = {
    "libero": {"position": "delta_xyz", "rotation": "axis_angle", "gripper": "binary_close_positive"},
    "metaworld": {"position": "delta_xyz", "gripper": "binary_close_positive"},
}
SIZES = {"position": 3, "rotation": 3, "gripper": 1}
RAW = "raw"


def complaints(declared: Mapping[str, Any], task: TaskSpec) -> list[str]:
    """Where a vla-eval server's action_spec contradicts the environment."""
    specs = declared.get("action_spec")
    expected = dict(ACTIONS.get(task.benchmark, {}))
    if not isinstance(specs, Mapping) or not expected:
        return []
    if task.env.options.get("control_mode") == "absolute":
        expected["position"] = "absolute_xyz"
    found = []
    for name, spec in specs.items():
        form, dims = str(spec.get("format", RAW)), int(spec.get("dims", 0))
        if form == RAW:
            continue
        if name not in expected:
            found.append(f"its actions have a '{name}' ({form}), which {task.benchmark}'s have not")
        elif form != expected[name]:
            found.append(f"its '{name}' is {form}, {task.benchmark}'s is {expected[name]}")
        elif dims not in (0, SIZES[name]):
            found.append(f"its '{name}' has {dims} numbers, {task.benchmark}'s has {SIZES[name]}")
    return found


def wanted_by(declared: Mapping[str, Any], observations: Mapping[str, Any]) -> dict[str, Any]:
    """Of a preset for vla-eval, what the server asks for: a camera in the hand, or the state, is sent on request."""
    asked = declared.get("observation_params") or {}
    wanted = dict(observations)
    if not asked.get("send_wrist_image") and "wrist" in wanted.get("images", {}):
        wanted["images"] = {name: entry for name, entry in wanted["images"].items() if name != "wrist"}
    if not asked.get("send_state"):
        wanted.pop("states", None)
    return wanted
