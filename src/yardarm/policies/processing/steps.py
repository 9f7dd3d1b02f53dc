"""What a step of a pipeline is, and the plain ones: names, batches, devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from yardarm.errors import UsageError
from yardarm.hub import Repositories
from yardarm.tasks import TaskSpec

__all__ = ["Batch", "ProcessorStep", "Rename", "Statistics", "Tensors", "ToBatch", "ToDevice", "tensors_of"]

Tensors = dict[str, Tensor]
Batch = dict[str, Tensor | list[str]]
"""Values by name, each with a leading batch axis; texts are lists."""
Statistics = Mapping[str, Mapping[str, Tensor]]
"""For each feature, its mean, std, min, max and quantiles, as far as they are known."""


def tensors_of(batch: Batch) -> Tensors:
    """What a network reads of a batch: text ends in the pipeline."""
    return {name: value for name, value in batch.items() if isinstance(value, Tensor)}


class ProcessorStep(ABC):
    """One step of a pipeline. A subclass has a name, and does something to a batch; the rest is optional."""

    name: ClassVar[str]
    """Stands in a checkpoint's JSON. LeRobot's steps have LeRobot's names."""
    reads_instruction: ClassVar[bool] = False
    """Whether it needs the task's instruction, as the text ``task`` of a batch."""

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read what `to_json`, `tensors` and `files` gave."""
        return cls(**config)

    def to_json(self) -> dict[str, Any]:
        """The step's settings."""
        return {}

    def tensors(self) -> Tensors:
        """What goes into a safetensors file of the checkpoint."""
        return {}

    def files(self) -> Mapping[str, bytes]:
        """Files that the step cannot do without, such as a tokenizer's: they are kept in the checkpoint."""
        return {}

    def completed(self, repositories: Repositories) -> Self:
        """The same step with what its settings only name, such as a tokenizer; called before a policy is used."""
        return self

    def to(self, device: torch.device) -> Self:
        """The same step for batches on another device."""
        return self

    def fitted_to(self, statistics: Statistics, instructions: Sequence[str]) -> Self:
        """The same step for other data, with these statistics and these instructions."""
        return self

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        """Add to a batch of one row what follows from the task alone: it is computed once for an episode.

        A step leaves alone what it finds in a batch already, so nothing is computed again at each look.
        """
        return known

    @abstractmethod
    def __call__(self, batch: Batch) -> Batch:
        """Do it to a whole batch."""


@dataclass(frozen=True)
class Rename(ProcessorStep):
    """From the environment's names to the policy's."""

    name: ClassVar[str] = "rename_observations_processor"
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.names.values())) < len(self.names):
            raise UsageError(f"rename_map gives two inputs the same name: {dict(self.names)}")

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read the map."""
        return cls(dict(config.get("rename_map", {})))

    def to_json(self) -> dict[str, Any]:
        """Write the map."""
        return {"rename_map": dict(self.names)}

    def check(self, inputs: Container[str]) -> None:
        """Refuse a map that removes an input which is read."""
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
class ToBatch(ProcessorStep):
    """LeRobot adds a leading axis here; batches have theirs from the beginning."""

    name: ClassVar[str] = "to_batch_processor"

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """It has no settings."""
        return cls()

    def __call__(self, batch: Batch) -> Batch:
        """Leave the batch as it is."""
        return batch


@dataclass(frozen=True)
class ToDevice(ProcessorStep):
    """Move every tensor; change the type of those with a floating point if one is given."""

    name: ClassVar[str] = "device_processor"
    device: str = "cpu"
    float_dtype: str | None = None

    def __post_init__(self) -> None:
        if self.float_dtype is not None and not isinstance(getattr(torch, self.float_dtype, None), torch.dtype):
            raise UsageError(f"float_dtype '{self.float_dtype}' is no type of torch")

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read device and type."""
        return cls(config.get("device") or "cpu", config.get("float_dtype"))

    def to_json(self) -> dict[str, Any]:
        """Write device and type."""
        return {"device": self.device, "float_dtype": self.float_dtype}

    def __call__(self, batch: Batch) -> Batch:
        """Move what is elsewhere."""
        return {name: self._moved(value) if isinstance(value, Tensor) else value for name, value in batch.items()}

    def _moved(self, value: Tensor) -> Tensor:
        dtype = getattr(torch, self.float_dtype) if self.float_dtype and value.is_floating_point() else None
        return value.to(self.device, dtype)
