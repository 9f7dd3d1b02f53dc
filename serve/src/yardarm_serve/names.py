"""Turns what a client sends into what a policy reads: names, instruction, history."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yardarm_serve.backend import Contract, Look

__all__ = ["Misfit", "Reader", "Seen"]

# Other names that common clients use for a policy's inputs.
ALIASES = {
    "observation.state": ("states", "state"),
    "observation.image": ("images/image",),
    "observation.images.image": ("observation/image", "images/agentview"),
    "observation.images.image2": ("observation/wrist_image", "images/wrist"),
}
SHOWN_NAMES = 20
INSTRUCTIONS = ("prompt", "task_description", "instruction", "task")


class Misfit(ValueError):
    """An observation that the policy cannot read; the message is sent to the client."""


@dataclass(frozen=True)
class Seen:
    """An observation under the policy's names: one set of values per step of history, oldest first."""

    looks: list[dict[str, np.ndarray]]
    instruction: str | None


@dataclass(frozen=True)
class Reader:
    """Finds a policy's inputs in what clients send."""

    contract: Contract
    rename_map: Mapping[str, str] = field(default_factory=dict)
    """From a client's name of an input to the policy's."""

    def read(self, observation: Mapping[str, Any]) -> Seen:
        """Rename, check and unstack the observation of an openpi or vla-eval client."""
        sent = dict(_flat(observation))
        instruction = next((sent[name] for name in INSTRUCTIONS if isinstance(sent.get(name), str)), None)
        values = {name: value for name, value in sent.items() if not isinstance(value, str)}
        if not self.contract.inputs:  # a backend that does not declare its inputs gets everything
            arrays = {self.rename_map.get(name, name): _array(name, value) for name, value in values.items()}
            return Seen([arrays], instruction)
        found = {name: self._find(name, values) for name in self.contract.inputs}
        return Seen(self._unstacked(found), instruction)

    def check(self, values: Mapping[str, np.ndarray]) -> None:
        """Reject values of the wrong shape or type, before they are batched with those of other clients."""
        for name, value in values.items():
            shape = self.contract.inputs.get(name)
            if shape is not None and value.shape != tuple(shape):
                raise Misfit(f"'{name}' has the shape {value.shape}, but the policy reads {tuple(shape)}")
            if name in self.contract.images and (value.dtype != np.uint8 or value.ndim != 3):
                raise Misfit(
                    f"'{name}' must be bytes (height, width, channel), not {value.dtype} of shape {value.shape}"
                )
            if value.dtype.kind not in "biuf":
                raise Misfit(f"'{name}' must be numbers, not {value.dtype}")

    def check_looks(self, looks: Sequence[Look], first: bool) -> None:
        """Check a Yardarm client's looks, which have the policy's names; an episode's first must have all inputs."""
        if not looks:
            raise Misfit("the request has no looks")
        for look in looks:
            if unknown := [name for name, value in look.values.items() if not isinstance(value, np.ndarray)]:
                raise Misfit(f"'{unknown[0]}' is not an array")
            self.check(look.values)
        missing = [name for name in self.contract.inputs if name not in looks[-1].values]
        if first and missing:
            raise Misfit(f"'{missing[0]}' is missing; the policy reads {', '.join(self.contract.inputs)}")

    def _find(self, name: str, values: Mapping[str, Any]) -> np.ndarray:
        renamed = [theirs for theirs, ours in self.rename_map.items() if ours == name]
        last = name.rpartition(".")[2]
        for candidate in (*renamed, name, name.replace(".", "/"), *ALIASES.get(name, ()), f"images/{last}"):
            if candidate in values:
                return _array(candidate, values[candidate])
        arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
        cameras = [value for value in arrays if value.dtype == np.uint8 and value.ndim >= 3]
        if self.contract.images == (name,) and len(cameras) == 1:
            return cameras[0]
        raise Misfit(
            f"the policy's input '{name}' is missing: it reads {', '.join(self.contract.inputs)}, but got "
            f"{_some(values) or 'nothing'}; rename yours, or start the server with "
            f'--rename_map=\'{{"your name": "{name}"}}\''
        )

    def _unstacked(self, found: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Split a leading axis of `steps` into looks; without that axis, repeat the single look."""
        steps = self.contract.steps
        stacked = {name: self._is_stacked(name, value) for name, value in found.items()}
        looks = [
            {name: value[step] if stacked[name] else value for name, value in found.items()}
            for step in range(steps if any(stacked.values()) else 1)
        ]
        for look in looks:
            self.check(look)
        return looks if len(looks) == steps else looks * steps

    def _is_stacked(self, name: str, value: np.ndarray) -> bool:
        if self.contract.steps == 1:
            return False
        shape = self.contract.inputs[name]
        dimensions = 3 if name in self.contract.images else 1 if shape is None else len(shape)
        return value.ndim == dimensions + 1 and len(value) == self.contract.steps


def _flat(observation: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in observation.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}/")
        elif isinstance(value, (str, int, float, list, np.ndarray, np.generic)):
            yield path, value


def _array(name: str, value: Any) -> np.ndarray:
    """Convert to an array; lists must contain numbers, since in an array of text, each takes as much as the longest."""
    if isinstance(value, list) and not _has_numbers_only(value):
        raise Misfit(f"'{name}' is a list that does not only contain numbers")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise Misfit(f"'{name}' is not an array: {error}") from error


def _has_numbers_only(value: Any) -> bool:
    if isinstance(value, list):
        return all(_has_numbers_only(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biuf"
    return isinstance(value, (int, float))


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:SHOWN_NAMES])
    return shown if len(names) <= SHOWN_NAMES else f"{shown} and {len(names) - SHOWN_NAMES} more"
