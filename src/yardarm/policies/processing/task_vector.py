"""Tells a policy for several tasks which one it does: a vector, appended to the state of the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from yardarm.config import one_of
from yardarm.errors import UsageError
from yardarm.policies.learned.config import ENVIRONMENT_STATE, STATE, FeatureType, PolicyFeature
from yardarm.policies.processing.instructions import ENCODER, encode_instructions
from yardarm.policies.processing.steps import Batch, ProcessorStep, Statistics, Tensors, tensors_of
from yardarm.policies.protocol import TASK
from yardarm.tasks import TaskSpec

__all__ = ["TASK_VECTOR", "KnownTask", "TaskVector", "conditioned_features", "unconditioned_features"]

# The vector of a row travels with its observations, and ends in the state of the environment.
TASK_VECTOR = "task_vector"
ONE_HOT, TEXT = "one_hot", "text"
MOST_LISTED = 50
# Another version of an encoder may round differently; another encoder is further away.
SAME_VECTOR = 1e-3

Features = Mapping[str, PolicyFeature]


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task that has a place; a dataset knows an instruction only, and not the task's name."""

    instruction: str
    name: str = ""
    trained: bool = True
    """Whether there was data of it; a benchmark's order has places for its other tasks, too."""


@dataclass(frozen=True)
class TaskVector(ProcessorStep):
    """Has a vector for each task: the n-th unit vector (one-hot), or one that an encoder made of the instruction.

    Tasks that share an instruction share the vector of the first, because a dataset does not tell them apart.
    """

    name: ClassVar[str] = "yardarm_task_vector"

    tasks: tuple[KnownTask, ...]
    table: Tensor
    """The tasks' vectors, (task, size)."""
    encoder: str | None = None
    """What makes vectors of other instructions; nothing does for one-hot vectors."""
    places: dict[str, int] = field(init=False, repr=False)
    """Where in the table an instruction is,"""
    encoded: dict[str, Tensor] = field(init=False, repr=False)
    """and what was made of those that are not there."""

    def __post_init__(self) -> None:
        if not self.tasks:
            raise UsageError("a policy that reads a task's vector must know at least one task")
        places: dict[str, int] = {}
        for place, task in enumerate(self.tasks):
            places.setdefault(task.instruction, place)
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "encoded", {})

    @classmethod
    def one_hot(cls, tasks: Sequence[KnownTask]) -> Self:
        """A place for each task, in this order."""
        return cls(tuple(tasks), torch.eye(len(tasks)))

    @classmethod
    def text(cls, instructions: Sequence[str]) -> Self:
        """The encoder's vectors, kept for these instructions so that they need no encoder any more."""
        words = list(dict.fromkeys(instructions))
        return cls(tuple(map(KnownTask, words)), encode_instructions(ENCODER, words), ENCODER)

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        return self.table.shape[1]

    def knowing(self, instructions: Sequence[str]) -> Self:
        """After training with these instructions, too; those without a place are refused."""
        words = dict.fromkeys(instructions)
        if self.encoder is None:
            self.vectors([*words])
            tasks = (replace(task, trained=task.trained or task.instruction in words) for task in self.tasks)
            return replace(self, tasks=tuple(tasks))
        new = [text for text in words if text not in self.places]
        table = torch.cat((self.table, *(self._encoded(text)[None] for text in new)))
        return replace(self, tasks=(*self.tasks, *map(KnownTask, new)), table=table)

    def vectors(self, instructions: Sequence[str]) -> Tensor:
        """The vectors (batch, size) of a batch of instructions, as datasets give them."""
        return torch.stack([self._of_instruction(text) for text in instructions])

    def of(self, task: TaskSpec) -> np.ndarray:
        """The vector of a task that is to be done; one that the policy cannot know is refused."""
        known = self._known(task)
        if known is not None and known.trained:
            return self.table[self.places[known.instruction]].numpy()
        if self.encoder is not None:
            return self._encoded(task.instruction or task.name).numpy()
        instruction = f" ({task.instruction})" if task.instruction not in ("", task.name) else ""
        raise UsageError(f"the policy was not trained for '{task.name}'{instruction}; it knows {self._listed()}")

    def _known(self, task: TaskSpec) -> KnownTask | None:
        """By the instruction; by the name, too, where both have one: a task may share the instruction of another."""
        own_name = task.name if task.name != task.instruction else ""
        alike = [known for known in self.tasks if known.instruction == task.instruction]
        same = [known for known in alike if not (known.name and own_name) or known.name == own_name]
        named = [known for known in self.tasks if task.name and task.name == (known.name or known.instruction)]
        return next(iter(same if alike else named), None)

    def _of_instruction(self, text: str) -> Tensor:
        if text in self.places:
            return self.table[self.places[text]]
        if self.encoder is None:
            known = _listing([task.instruction for task in self.tasks])
            raise UsageError(f"no task of the policy has the instruction '{text}'; it knows {known}")
        return self._encoded(text)

    def _encoded(self, text: str) -> Tensor:
        """By the encoder, which must still be the one that made the table."""
        assert self.encoder is not None
        if text not in self.encoded:
            first, new = encode_instructions(self.encoder, [self.tasks[0].instruction, text])
            if (first - self.table[0]).abs().max() > SAME_VECTOR:
                raise UsageError(
                    f"the installed {self.encoder} differs from the one that the policy was trained with, so "
                    f"'{text}' cannot be encoded; install that version"
                )
            self.encoded[text] = new
        return self.encoded[text]

    def _listed(self) -> str:
        return _listing([task.name or task.instruction for task in self.tasks if task.trained])

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """Read the tasks, and the vectors of their instructions."""
        one_of("kind", config["kind"], (ONE_HOT, TEXT))
        if config["kind"] == ONE_HOT:
            step = cls.one_hot([KnownTask(**task) for task in config["tasks"]])
        else:
            step = cls(tuple(map(KnownTask, config["instructions"])), tensors["vectors"].float(), config["encoder"])
        if step.table.shape != (len(step.tasks), config["size"]):
            raise UsageError(f"{len(step.tasks)} tasks do not fit vectors of the shape {tuple(step.table.shape)}")
        return step

    def to_json(self) -> dict[str, Any]:
        """Write the tasks."""
        if self.encoder is None:
            fields = ("name", "instruction", "trained")
            tasks = [{name: getattr(task, name) for name in fields} for task in self.tasks]
            return {"kind": ONE_HOT, "size": self.size, "tasks": tasks}
        instructions = [task.instruction for task in self.tasks]
        return {"kind": TEXT, "size": self.size, "encoder": self.encoder, "instructions": instructions}

    def tensors(self) -> Tensors:
        """The vectors of instructions; those of places need none."""
        return {} if self.encoder is None else {"vectors": self.table}

    def fitted_to(self, statistics: Statistics, instructions: Sequence[str]) -> Self:
        """With these instructions among those that it knows."""
        return self.knowing(instructions)

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        """The task's vector."""
        return {**known, TASK_VECTOR: torch.from_numpy(self.of(task))[None]}

    def __call__(self, batch: Batch) -> Batch:
        """Append the vector, or that of the text, at every observation step where there are several."""
        rest = {name: value for name, value in batch.items() if name != TASK_VECTOR}
        others = tensors_of(rest)
        vector = self._of_batch(batch, others)
        leading = max((_leading(name, value) for name, value in others.items()), key=len, default=())
        if vector.ndim <= len(leading):
            vector = vector[:, None].expand(*leading, -1)
        state = others.get(ENVIRONMENT_STATE)
        joined = vector if state is None else torch.cat((state, vector.to(state)), dim=-1)
        return {**rest, ENVIRONMENT_STATE: joined}

    def _of_batch(self, batch: Batch, others: Tensors) -> Tensor:
        given = batch.get(TASK_VECTOR)
        if isinstance(given, Tensor):
            return given
        texts = batch.get(TASK)
        if not isinstance(texts, list):
            raise UsageError(f"the policy needs '{TASK_VECTOR}', or instructions as '{TASK}', to know its task")
        vectors = self.vectors(texts)
        return vectors.to(next(iter(others.values())).device) if others else vectors


def conditioned_features(features: Features, size: int) -> dict[str, PolicyFeature]:
    """The inputs of a network that reads a task's vector of this size, too."""
    before = features[ENVIRONMENT_STATE].shape[0] if ENVIRONMENT_STATE in features else 0
    return {**features, ENVIRONMENT_STATE: PolicyFeature(FeatureType.ENV, (before + size,))}


def unconditioned_features(features: Features, size: int) -> dict[str, PolicyFeature]:
    """The other way: what is left for the environment to offer."""
    there = features[ENVIRONMENT_STATE].shape[0] if ENVIRONMENT_STATE in features else 0
    if there < size:
        raise UsageError(f"the task's vector has {size} numbers, but '{ENVIRONMENT_STATE}' of input_features {there}")
    others = {name: feature for name, feature in features.items() if name != ENVIRONMENT_STATE}
    if there == size:
        return others
    left = replace(features[ENVIRONMENT_STATE], shape=(there - size,))
    return {name: others.get(name, left) for name in features}


def _leading(name: str, value: Tensor) -> tuple[int, ...]:
    """The axes before a vector's or an image's own: batch, and observation steps where there are any."""
    if name in (STATE, ENVIRONMENT_STATE):
        return tuple(value.shape[:-1])
    return tuple(value.shape[:-3]) if value.ndim > 3 else ()


def _listing(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
