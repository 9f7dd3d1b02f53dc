"""A policy that reads its instruction, a part of which is frozen: what vision-language-action policies do, in small."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor, nn

from yardarm.policies.learning import (
    ACTION,
    ACTION_PADDING,
    ENVIRONMENT_STATE,
    TASK,
    Architecture,
    Batch,
    NormalizationMode,
    Pipeline,
    PolicyConfig,
    Processing,
    ProcessorStep,
    Statistics,
    Tensors,
    default_processing,
    recomputed,
)
from yardarm.policies.options import SchedulerOptions
from yardarm.tasks import TaskSpec

TOKENS, MASK = "observation.language.tokens", "observation.language.attention_mask"
TYPE = "tests.training.reader:READER"


def _mean_std() -> dict[str, NormalizationMode]:
    return {"ENV": NormalizationMode.MEAN_STD, "ACTION": NormalizationMode.MEAN_STD}


@dataclass
class ReaderConfig(PolicyConfig):
    """What is frozen is an option, as in LeRobot."""

    type: ClassVar[str] = "reader"
    chunk_size: int = 4
    train_head_only: bool = True
    train_nothing: bool = False
    normalization_mapping: dict[str, NormalizationMode] = field(default_factory=_mean_std)

    @property
    def chunk_length(self) -> int:
        return self.chunk_size

    def scheduler_preset(self) -> SchedulerOptions:
        return SchedulerOptions(
            type="cosine_decay_with_warmup", num_warmup_steps=10, num_decay_steps=30, decay_lr=2.5e-6
        )


@dataclass(frozen=True)
class Letters(ProcessorStep):
    """The letters of each instruction, padded to the longest of the batch."""

    name: ClassVar[str] = "reader_letters"
    reads_instruction: ClassVar[bool] = True

    def for_task(self, known: Batch, task: TaskSpec) -> Batch:
        return self(known)

    def __call__(self, batch: Batch) -> Batch:
        if TOKENS in batch:
            return batch
        rows = [torch.tensor(list(text.encode())) for text in batch[TASK]]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return {**batch, TOKENS: tokens, MASK: tokens != 0}


class Language(nn.Module):
    """Has dropout and running statistics, which must rest while it is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(128, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        assert (tokens.dtype, mask.dtype) == (torch.int64, torch.bool)
        words = self.words(tokens) * mask[..., None]
        return self.drop(self.norm(words.sum(dim=1) / mask.sum(dim=1, keepdim=True)))


class ReaderNetwork(nn.Module):
    """Two layers above the frozen language."""

    checkpointing = False

    def __init__(self, config: ReaderConfig) -> None:
        super().__init__()
        self.language = Language().requires_grad_(not config.train_head_only)
        assert config.environment_state is not None
        self.q_proj = nn.Linear(8 + config.environment_state.shape[0], 16)
        self.expert = nn.ModuleDict({"q_proj": nn.Linear(16, 16), "v_proj": nn.Linear(16, 16)})
        self.out = nn.Linear(16, config.chunk_size * config.action_size)
        self.shape = (config.chunk_size, config.action_size)
        if config.train_nothing:
            self.requires_grad_(False)

    def checkpoint_gradients(self) -> None:
        self.checkpointing = True

    def forward(self, inputs: Tensors) -> Tensor:
        read = self.language(inputs[TOKENS], inputs[MASK])
        seen = self.q_proj(torch.cat((inputs[ENVIRONMENT_STATE], read), dim=-1))
        for layer in self.expert.values():
            seen = recomputed(self.checkpointing, lambda x, layer=layer: torch.relu(layer(x)), seen)
        return self.out(seen).unflatten(-1, self.shape)


class ReaderObjective(nn.Module):
    """The squared error, to which training adds noise."""

    def __init__(self, config: ReaderConfig, network: ReaderNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Tensors) -> Tensors:
        actions = batch[ACTION] + 0.01 * torch.randn_like(batch[ACTION])
        errors = (self.network(batch) - actions).square().mean(dim=-1)
        real = ~batch[ACTION_PADDING]
        return {"loss": (errors * real).sum() / real.sum()}


def reader_processing(config: ReaderConfig, statistics: Statistics) -> Processing:
    made = default_processing(config, statistics)
    return Processing(Pipeline(made.preprocessor.name, [Letters(), *made.preprocessor.steps]), made.postprocessor)


READER = Architecture(
    config=ReaderConfig,
    network=ReaderNetwork,
    objective=ReaderObjective,
    processing=reader_processing,
    steps=(Letters,),
    adapted=r"model\.(expert\..*_proj|out)",
)
