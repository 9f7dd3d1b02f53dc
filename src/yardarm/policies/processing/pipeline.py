"""A row of steps, in the order that a checkpoint's JSON gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from yardarm.errors import UsageError, nearest, one_line
from yardarm.hub import Repositories
from yardarm.policies.learned.config import FeatureType, NormalizationMode, PolicyFeature
from yardarm.policies.processing.normalization import Normalize, Unnormalize
from yardarm.policies.processing.steps import Batch, ProcessorStep, Rename, Statistics, Tensors, ToDevice, tensors_of
from yardarm.policies.protocol import TASK
from yardarm.registry import Registry
from yardarm.tasks import TaskSpec

__all__ = ["PROCESSOR_STEPS", "Pipeline", "StepSource", "StoredPipeline"]

# Steps that architectures share, by the names that checkpoints give them. What an architecture alone needs is in its
# own `Architecture.steps`.
PROCESSOR_STEPS = Registry(
    "processing step",
    "yardarm.processor_steps",
    {
        "rename_observations_processor": "yardarm.policies.processing.steps:Rename",
        "to_batch_processor": "yardarm.policies.processing.steps:ToBatch",
        "device_processor": "yardarm.policies.processing.steps:ToDevice",
        "smolvla_new_line_processor": "yardarm.policies.processing.text:NewLine",
        "tokenizer_processor": "yardarm.policies.processing.text:Tokenize",
        "normalizer_processor": "yardarm.policies.processing.normalization:Normalize",
        "relative_actions_processor": "yardarm.policies.processing.relative:RelativeActions",
        "absolute_actions_processor": "yardarm.policies.processing.relative:AbsoluteActions",
        "unnormalizer_processor": "yardarm.policies.processing.normalization:Unnormalize",
        "yardarm_task_vector": "yardarm.policies.processing.task_vector:TaskVector",
    },
)
AStep = TypeVar("AStep", bound=ProcessorStep)


class StepSource(Protocol):
    """Where the files of steps are: a checkpoint's folder."""

    def read_tensors(self, name: str) -> Mapping[str, Tensor]:
        """A safetensors file."""

    def read_bytes(self, name: str) -> bytes:
        """Any other file."""


@dataclass(frozen=True, slots=True)
class StoredPipeline:
    """A pipeline as a checkpoint holds it: its JSON, and the content of the files that the JSON names."""

    data: dict[str, Any]
    tensors: dict[str, Tensors]
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What happens to a batch before a network, or to its answer after."""

    name: str
    steps: Sequence[ProcessorStep]

    def __call__(self, batch: Batch) -> Batch:
        """Apply every step."""
        for step in self.steps:
            batch = step(batch)
        return batch

    @property
    def reads_instruction(self) -> bool:
        """Whether a step needs the task's instruction."""
        return any(step.reads_instruction for step in self.steps)

    def for_task(self, task: TaskSpec) -> dict[str, np.ndarray]:
        """What follows from a task alone, for one row."""
        known: Batch = {TASK: [task.instruction]}
        for step in self.steps:
            known = step.for_task(known, task)
        return {name: value[0].numpy(force=True) for name, value in tensors_of(known).items()}

    def step(self, kind: type[AStep]) -> AStep | None:
        """The step of this kind, if there is one."""
        return next((step for step in self.steps if isinstance(step, kind)), None)

    def having(self, new: ProcessorStep) -> Self:
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

    def setting(self, step: str, name: str, value: Any) -> Self:
        """With another setting of the steps of this name."""
        steps = [replace(own, **{name: value}) if own.name == step else own for own in self.steps]  # type: ignore[type-var]
        return type(self)(self.name, steps)

    def for_features(self, features: Mapping[str, PolicyFeature]) -> Self:
        """For features of other shapes; their statistics must follow."""
        steps = [
            replace(
                step, features={name: features.get(name, own) for name, own in step.features.items()}, statistics={}
            )
            if isinstance(step, Normalize | Unnormalize)
            else step
            for step in self.steps
        ]
        return type(self)(self.name, steps)

    def fitted_to(self, statistics: Statistics, instructions: Sequence[str]) -> Self:
        """For other data."""
        return type(self)(self.name, [step.fitted_to(statistics, instructions) for step in self.steps])

    def without_statistics(
        self, features: Mapping[str, PolicyFeature], modes: Mapping[FeatureType, NormalizationMode]
    ) -> list[str]:
        """The features of a network that pass unchanged because their statistics are missing.

        `modes` say what is needed if a pipeline does not normalise at all.
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

    def completed(self, repositories: Repositories) -> Self:
        """With everything that its steps only name."""
        return type(self)(self.name, [step.completed(repositories) for step in self.steps])

    def to(self, device: torch.device) -> Self:
        """With everything that its steps hold on a device."""
        return type(self)(self.name, [step.to(device) for step in self.steps])

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: StepSource, own: Sequence[type[ProcessorStep]] = ()) -> Self:
        """Read what `stored` gave, or LeRobot wrote; `own` are steps of the policy's architecture."""
        known = {step.name: step for step in own}
        try:
            entries = [(_step_name(entry), entry) for entry in data["steps"]]
            steps = [_read_step(known.get(name) or _shared_step(name), entry, source) for name, entry in entries]
            return cls(data.get("name", "pipeline"), steps)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"its steps cannot be read: {one_line(error)}") from error

    def stored(self) -> StoredPipeline:
        """What a checkpoint keeps of it."""
        entries: list[dict[str, Any]] = []
        tensors: dict[str, Tensors] = {}
        files: dict[str, bytes] = {}
        for number, step in enumerate(self.steps):
            beginning = f"{self.name}_step_{number}_{step.name}"
            entry: dict[str, Any] = {"registry_name": step.name, "config": step.to_json()}
            if own := step.tensors():
                entry["state_file"] = f"{beginning}.safetensors"
                tensors[entry["state_file"]] = own
            if contents := step.files():
                entry["files"] = {name: f"{beginning}.{name}" for name in sorted(contents)}
                files |= {entry["files"][name]: content for name, content in contents.items()}
            entries.append(entry)
        return StoredPipeline({"name": self.name, "steps": entries}, tensors, files)


def _step_name(entry: Mapping[str, Any]) -> str:
    """A registered name, or the path of a class of someone's own."""
    return entry["registry_name"] if "registry_name" in entry else str(entry["class"])


def _shared_step(name: str) -> type[ProcessorStep]:
    """A registered step: a checkpoint decides which one, but never what else is imported."""
    if name not in (known := PROCESSOR_STEPS.names()):
        raise UsageError(f"step '{name}' is unknown here{nearest(name, known)} known are {', '.join(known)}")
    return PROCESSOR_STEPS.load(name)


def _read_step(kind: type[ProcessorStep], entry: Mapping[str, Any], source: StepSource) -> ProcessorStep:
    tensors = source.read_tensors(_beside(entry["state_file"])) if entry.get("state_file") else {}
    files = {_beside(name): source.read_bytes(_beside(stored)) for name, stored in entry.get("files", {}).items()}
    return kind.from_json(entry.get("config", {}), tensors, files)


def _beside(name: str) -> str:
    """Files of steps lie in the checkpoint's folder: a name that leads elsewhere could fetch a secret into a policy."""
    if PurePath(name).name != name or name == "..":
        raise UsageError(f"the file '{name}' of a step must lie beside the JSON that names it")
    return name
