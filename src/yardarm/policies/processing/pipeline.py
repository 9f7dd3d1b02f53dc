"""A row of steps, in the order that a checkpoint's JSON gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from yardarm.errors import UsageError, one_line
from yardarm.policies.learned.config import FeatureType, NormalizationMode, PolicyFeature
from yardarm.policies.processing.normalization import Normalize, Statistics, Unnormalize
from yardarm.policies.processing.steps import Batch, Rename, Step, ToBatch, ToDevice
from yardarm.policies.processing.task_vector import TaskVector

__all__ = ["Pipeline"]

STEPS: dict[str, type[Step]] = {
    step.name: step for step in (Rename, ToBatch, ToDevice, Normalize, Unnormalize, TaskVector)
}
AStep = TypeVar("AStep", bound=Step)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What happens to a batch before a network, or to its answer after."""

    name: str
    steps: Sequence[Step]

    def __call__(self, batch: Batch) -> Batch:
        """Apply every step."""
        for step in self.steps:
            batch = step(batch)
        return batch

    def step(self, kind: type[AStep]) -> AStep | None:
        """The step of this kind, if there is one."""
        return next((step for step in self.steps if isinstance(step, kind)), None)

    def having(self, new: Step) -> Self:
        """With this step in the place of the one of its kind, or before all others."""
        if self.step(type(new)) is None:
            return type(self)(self.name, (new, *self.steps))
        return type(self)(self.name, [new if type(step) is type(new) else step for step in self.steps])

    def ending_on(self, device: str) -> Self:
        """With values delivered to a device, whatever device a checkpoint was trained on."""
        step = self.step(ToDevice)
        return self if step is None else self.having(replace(step, device=device))

    def normalizing(self, modes: Mapping[FeatureType, NormalizationMode]) -> Self:
        """With other modes of normalisation."""
        steps = [
            replace(step, modes=modes) if isinstance(step, Normalize | Unnormalize) else step for step in self.steps
        ]
        return type(self)(self.name, steps)

    def with_statistics(self, statistics: Statistics) -> Self:
        """With the statistics of other data."""
        steps = [
            replace(step, statistics=statistics) if isinstance(step, Normalize | Unnormalize) else step
            for step in self.steps
        ]
        return type(self)(self.name, steps)

    def without_statistics(
        self, features: Mapping[str, PolicyFeature], modes: Mapping[FeatureType, NormalizationMode]
    ) -> list[str]:
        """Those of a network's features that pass as they are for want of statistics.

        `modes` are what a pipeline that does not normalise at all is held against.
        """
        normalizes = any(isinstance(step, Normalize | Unnormalize) for step in self.steps)
        steps = self.steps if normalizes else (*self.steps, Normalize({}, modes, {}))
        names = {name: name for name in features}  # what a step calls them, from the last step to the first
        lacking: set[str] = set()
        for step in reversed(steps):
            if isinstance(step, Rename):
                names = {own: step.before(name) for own, name in names.items()}
            elif isinstance(step, Normalize | Unnormalize):
                lacking |= {own for own, name in names.items() if step.lacks(name, features[own])}
        return [name for name in features if name in lacking]

    def to(self, device: torch.device) -> Self:
        """With everything that its steps hold on a device."""
        return type(self)(self.name, [step.to(device) for step in self.steps])

    @classmethod
    def from_json(cls, data: Mapping[str, Any], read_tensors: Callable[[str], Mapping[str, Tensor]]) -> Self:
        """Read what `to_json` wrote, or LeRobot; `read_tensors` opens a step's file by its name."""
        try:
            entries = [(_step_name(entry), entry) for entry in data["steps"]]
            steps = []
            for name, entry in entries:
                if name not in STEPS:
                    raise UsageError(f"step '{name}' is unknown here; known are {', '.join(STEPS)}")
                tensors = read_tensors(entry["state_file"]) if entry.get("state_file") else {}
                steps.append(STEPS[name].from_json(entry.get("config", {}), tensors))
            return cls(data.get("name", "pipeline"), steps)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"its steps cannot be read: {one_line(error)}") from error

    def to_json(self) -> tuple[dict[str, Any], dict[str, Batch]]:
        """The pipeline's JSON, and the content of the safetensors files that it names."""
        entries, files = [], {}
        for number, step in enumerate(self.steps):
            entry: dict[str, Any] = {"registry_name": step.name, "config": step.to_json()}
            if tensors := step.tensors():
                entry["state_file"] = f"{self.name}_step_{number}_{step.name}.safetensors"
                files[entry["state_file"]] = tensors
            entries.append(entry)
        return {"name": self.name, "steps": entries}, files


def _step_name(entry: Mapping[str, Any]) -> str:
    """A registered name, or the path of a class that somebody wrote for themselves."""
    return entry["registry_name"] if "registry_name" in entry else str(entry["class"])
