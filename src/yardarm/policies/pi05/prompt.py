"""The prompt of π0.5: what to do, and where the robot is, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from yardarm.errors import UsageError
from yardarm.policies.learned.config import STATE
from yardarm.policies.processing import TOKENS, Batch, ProcessorStep
from yardarm.policies.protocol import TASK
from yardarm.tasks import TaskSpec

__all__ = ["StatePrompt", "bins"]

BINS = 256


def bins(state: Tensor) -> Tensor:
    """In which of 256 equal parts of -1…1 each value is: 0…255; what is below is in part -1, what is above in 255."""
    edges = torch.linspace(-1, 1, BINS + 1, dtype=torch.float64)[:-1]
    return torch.bucketize(state.double().cpu(), edges, right=True) - 1


@dataclass(frozen=True)
class StatePrompt(ProcessorStep):
    """Puts the normalised state into each instruction, so it comes after the normalisation and before the tokens."""

    name: ClassVar[str] = "pi05_prepare_state_tokenizer_processor_step"

    @classmethod
    def from_json(cls, config: Mapping[str, Any], tensors: Mapping[str, Tensor], files: Mapping[str, bytes]) -> Self:
        """It has no settings that count."""
        return cls()

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        """No prompt follows from the task alone."""
        return {name: value for name, value in known.items() if name != TASK}

    def __call__(self, batch: Batch) -> Batch:
        """Make the prompts of a batch, unless it has its tokens already."""
        if TOKENS in batch:
            return batch
        texts, state = batch.get(TASK), batch.get(STATE)
        if not isinstance(texts, list) or not isinstance(state, Tensor):
            raise UsageError(f"the policy needs instructions as '{TASK}', and '{STATE}', for its prompt")
        return {**batch, TASK: [_prompt(text, row) for text, row in zip(texts, bins(state).tolist(), strict=True)]}


def _prompt(text: str, state: list[int]) -> str:
    cleaned = text.strip().replace("_", " ").replace("\n", " ")
    return f"Task: {cleaned}, State: {' '.join(map(str, state))};\nAction: "
