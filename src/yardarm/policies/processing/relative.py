"""Actions as distances from where the robot is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from yardarm.errors import UsageError
from yardarm.policies.learned.config import ACTION, STATE
from yardarm.policies.processing.steps import Batch, ProcessorStep

__all__ = ["RELATIVE_TO", "AbsoluteActions", "RelativeActions"]

# What actions are relative to (batch, 1, action): it stays with the chunk that was made for it.
RELATIVE_TO = "relative_to"


@dataclass(frozen=True)
class RelativeActions(ProcessorStep):
    """Takes the robot's state off demonstrated actions; grippers, for example, stay absolute."""

    name: ClassVar[str] = "relative_actions_processor"
    enabled: bool = False
    exclude_joints: tuple[str, ...] = ()
    action_names: tuple[str, ...] | None = None
    """What the parts of an action are called; without names, none is left out."""

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read the settings."""
        names = config.get("action_names")
        joints = tuple(map(str, config.get("exclude_joints") or ()))
        return cls(bool(config.get("enabled", False)), joints, None if names is None else tuple(map(str, names)))

    def to_json(self) -> dict[str, Any]:
        """Write the settings."""
        names = None if self.action_names is None else list(self.action_names)
        return {"enabled": self.enabled, "exclude_joints": list(self.exclude_joints), "action_names": names}

    def __call__(self, batch: Batch) -> Batch:
        """Make actions relative, where there are any."""
        if not self.enabled or ACTION not in batch:
            return batch
        actions, state = batch[ACTION], batch[STATE]
        assert isinstance(actions, Tensor)
        assert isinstance(state, Tensor)
        offset = self.offset(state, actions.shape[-1])
        return {**batch, ACTION: actions - (offset if actions.ndim == 3 else offset[:, 0])}

    def offset(self, state: Tensor, size: int) -> Tensor:
        """What actions of this size are relative to (batch, 1, action), for raw states (batch, state)."""
        if state.shape[-1] < size:
            raise UsageError(f"actions of {size} numbers cannot be relative to a state of {state.shape[-1]}")
        return (state[:, :size] * torch.tensor(self._moved(size), device=state.device))[:, None]

    def _moved(self, size: int) -> list[float]:
        """1 for parts of an action that are relative."""
        names = [name.lower() for name in self.action_names or ()]
        kept = [word.lower() for word in self.exclude_joints if word]
        names += [""] * (size - len(names))
        return [0.0 if any(word in name for word in kept) else 1.0 for name in names[:size]]


@dataclass(frozen=True)
class AbsoluteActions(ProcessorStep):
    """The way back, from the state that the chunk was made for."""

    name: ClassVar[str] = "absolute_actions_processor"
    enabled: bool = False

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read the setting."""
        return cls(bool(config.get("enabled", False)))

    def to_json(self) -> dict[str, Any]:
        """Write the setting."""
        return {"enabled": self.enabled}

    def __call__(self, batch: Batch) -> Batch:
        """Make a chunk's actions absolute."""
        if not self.enabled:
            return batch
        actions, offset = batch[ACTION], batch[RELATIVE_TO]
        assert isinstance(actions, Tensor)
        assert isinstance(offset, Tensor)
        return {**batch, ACTION: actions + offset.to(actions)}
