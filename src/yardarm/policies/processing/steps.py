"""The plain steps: names, batches, devices."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor

from yardarm.errors import UsageError

__all__ = ["Batch", "Rename", "Step", "ToBatch", "ToDevice"]

Batch = dict[str, Tensor]


class Step(Protocol):
    """One step of a pipeline; `name` is LeRobot's, and stands in a checkpoint's JSON."""

    name: ClassVar[str]

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """Read what `to_json` and `tensors` gave."""

    def to_json(self) -> dict[str, Any]:
        """The step's settings."""

    def tensors(self) -> Batch:
        """What belongs into a safetensors file; most steps have nothing."""

    def to(self, device: torch.device) -> Self:
        """The same step for batches on another device."""

    def __call__(self, batch: Batch) -> Batch:
        """Do it to a whole batch."""


class _Plain:
    """A step without tensors."""

    def tensors(self) -> Batch:
        """Nothing."""
        return {}

    def to(self, device: torch.device) -> Self:
        """Nothing to move."""
        return self


@dataclass(frozen=True)
class Rename(_Plain):
    """From the environment's names to the policy's."""

    name: ClassVar[str] = "rename_observations_processor"
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.names.values())) < len(self.names):
            raise UsageError(f"rename_map gives two inputs the same name: {dict(self.names)}")

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """Read the map."""
        return cls(dict(config.get("rename_map", {})))

    def to_json(self) -> dict[str, Any]:
        """Write the map."""
        return {"rename_map": dict(self.names)}

    def check(self, inputs: Container[str]) -> None:
        """Refuse a map that takes away an input which is read."""
        for old, new in self.names.items():
            if old in inputs and old not in self.names.values():
                raise UsageError(
                    f"rename_map renames '{old}' to '{new}', but the policy reads '{old}'; "
                    "it maps the environment's names to the policy's"
                )

    def before(self, name: str) -> str:
        """What an input is called before it is renamed."""
        return {new: old for old, new in self.names.items()}.get(name, name)

    def __call__(self, batch: Batch) -> Batch:
        """Rename what is there."""
        return {self.names.get(name, name): value for name, value in batch.items()}


@dataclass(frozen=True)
class ToBatch(_Plain):
    """LeRobot adds a leading axis here; batches have theirs from the beginning."""

    name: ClassVar[str] = "to_batch_processor"

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """It has no settings."""
        return cls()

    def to_json(self) -> dict[str, Any]:
        """It has no settings."""
        return {}

    def __call__(self, batch: Batch) -> Batch:
        """Leave the batch as it is."""
        return batch


@dataclass(frozen=True)
class ToDevice(_Plain):
    """Move everything; change the floating point type if one is given."""

    name: ClassVar[str] = "device_processor"
    device: str = "cpu"
    float_dtype: str | None = None

    def __post_init__(self) -> None:
        if self.float_dtype is not None and not isinstance(getattr(torch, self.float_dtype, None), torch.dtype):
            raise UsageError(f"float_dtype '{self.float_dtype}' is no type of torch")

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """Read device and type."""
        return cls(config.get("device") or "cpu", config.get("float_dtype"))

    def to_json(self) -> dict[str, Any]:
        """Write device and type."""
        return {"device": self.device, "float_dtype": self.float_dtype}

    def __call__(self, batch: Batch) -> Batch:
        """Move what is elsewhere."""
        dtype = getattr(torch, self.float_dtype) if self.float_dtype else None
        return {
            name: value.to(self.device, dtype if dtype and value.is_floating_point() else None)
            for name, value in batch.items()
        }
