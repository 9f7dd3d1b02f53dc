"""What a server declares, checked against the environment before anything starts.

A policy with another convention than the environment's scores 0%, and nothing else tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from yardarm.tasks import TaskSpec

__all__ = ["odd_actions", "odd_observations", "wanted_by"]

# What a benchmark's actions mean, in vla-eval's words; of Meta-World it does not speak itself. A server may leave them
# open, as "raw".
ACTIONS: Mapping[str, Mapping[str, str]] = {
    "libero": {"position": "delta_xyz", "rotation": "axis_angle", "gripper": "binary_close_positive"},
    "metaworld": {"position": "delta_xyz", "gripper": "binary_close_positive"},
}
SIZES = {"position": 3, "rotation": 3, "gripper": 1}
# How the presets lay the robot's state out.
STATES = {"libero": "eef_pos3_axisangle3_gripper2"}
RAW = "raw"


def odd_actions(declared: Mapping[str, Any], task: TaskSpec) -> Iterator[str]:
    """Where a vla-eval server's action_spec contradicts the environment."""
    expected = dict(ACTIONS.get(task.benchmark, {}))
    if task.env.options.get("control_mode") == "absolute":
        expected["position"] = "absolute_xyz"
    for name, form, dims in _specs(declared, "action_spec") if expected else ():
        if name not in expected:
            yield f"its actions have a '{name}' ({form}), which {task.benchmark}'s have not"
        elif form != expected[name]:
            yield f"its '{name}' is {form}, {task.benchmark}'s is {expected[name]}"
        elif dims not in (0, SIZES[name]):
            yield f"its '{name}' has {dims} numbers, {task.benchmark}'s has {SIZES[name]}"


def odd_observations(declared: Mapping[str, Any], task: TaskSpec, sent: Mapping[str, Any]) -> Iterator[str]:
    """Where a vla-eval server's observation_spec asks for what a preset does not send."""
    for name, form, _ in _specs(declared, "observation_spec"):
        if name != "state":
            continue  # names of cameras are a matter of taste: a server takes what comes first
        if "states" not in sent:
            yield f"it reads a state ({form}), but did not ask for one (send_state)"
        elif form != STATES.get(task.benchmark, form):
            yield f"it reads a state of {form}, {task.benchmark}'s is {STATES[task.benchmark]}"


def _specs(declared: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str, int]]:
    """Names, forms and sizes of what is said precisely."""
    specs = declared.get(kind)
    for name, spec in specs.items() if isinstance(specs, Mapping) else ():
        form = str(spec.get("format", RAW)) if isinstance(spec, Mapping) else RAW
        if form != RAW:
            yield str(name), form, int(spec.get("dims", 0))


def wanted_by(declared: Mapping[str, Any], observations: Mapping[str, Any]) -> dict[str, Any]:
    """Of a preset for vla-eval, what the server asks for: a camera in the hand, or the state, is sent on request."""
    asked = declared.get("observation_params") or {}
    wanted = dict(observations)
    if not asked.get("send_wrist_image") and "wrist" in wanted.get("images", {}):
        wanted["images"] = {name: entry for name, entry in wanted["images"].items() if name != "wrist"}
    if not asked.get("send_state"):
        wanted.pop("states", None)
    return wanted
