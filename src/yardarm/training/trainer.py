"""The loop's heart: a batch goes in, the weights change. Everything that must survive a stop is here."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from yardarm.policies import OptimizerOptions, SchedulerOptions
from yardarm.policies.learning import LearnedPolicy
from yardarm.training.average import MovingAverage
from yardarm.training.config import TrainOptions
from yardarm.training.frozen import frozen_parts
from yardarm.training.optimization import make_optimizer, make_scheduler, parameter_groups
from yardarm.training.samples import Preparation

__all__ = ["BatchSource", "Trainer", "TrainingStep"]


class BatchSource(Protocol):
    """Batches without end, whose place can be saved."""

    per_epoch: int

    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    def state_dict(self) -> dict[str, Any]:
        """The place after the last batch."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a place."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What one update brought."""

    losses: dict[str, torch.Tensor]
    grad_norm: torch.Tensor
    lr: float
    samples: int
    data_s: float
    """Seconds that it waited for data,"""
    update_s: float
    """and that it computed."""


class Trainer:
    """A policy, what it learns from, and the optimiser between them."""

    def __init__(
        self,
        policy: LearnedPolicy,
        batches: BatchSource,
        prepare: Preparation,
        optimizer: OptimizerOptions,
        scheduler: SchedulerOptions,
        options: TrainOptions,
        accelerator: Any,
    ) -> None:
        self.policy = policy
        self.batches = batches
        self.step = 0
        self._prepare = prepare
        self._clip = optimizer.grad_clip_norm
        self._accumulated = options.gradient_accumulation_steps
        self._accelerator = accelerator
        groups = parameter_groups(policy.network, policy.config.learning_rates())
        self.optimizer = make_optimizer(groups, optimizer)
        self.scheduler = make_scheduler(self.optimizer, scheduler, options.steps)
        # An adapter's network is frozen around it, and must not lose its dropout by that.
        self._frozen = list(frozen_parts(policy.network)) if policy.adapter is None else []
        self.average = MovingAverage(policy.network, options.ema_decay) if options.ema_decay else None
        assert policy.architecture.objective is not None, "a learner's policy can be trained"
        self.objective = policy.architecture.objective(policy.config, policy.network)
        self._learning, self._applied = accelerator.prepare(self.objective, self.optimizer)
        self._iterator: Iterator[dict[str, Any]] | None = None

    @property
    def steps_per_epoch(self) -> float:
        """Updates in which every sample is seen once."""
        return self.batches.per_epoch / self._accumulated

    def advance(self) -> TrainingStep:
        """Make one update of the weights."""
        self._learning.train()
        for frozen in self._frozen:
            frozen.eval()
        data_s = update_s = 0.0
        samples = 0
        for part in range(self._accumulated):
            started = time.perf_counter()
            batch = self._next_batch()
            fetched = time.perf_counter()
            losses = self._learn(batch, last=part == self._accumulated - 1)
            samples += len(batch["action"])
            data_s += fetched - started
            update_s += time.perf_counter() - fetched
        started = time.perf_counter()
        lr = float(self.scheduler.get_last_lr()[0])
        grad_norm = self._update()
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        update_s += time.perf_counter() - started
        return TrainingStep(losses, grad_norm, lr, samples * self._accelerator.num_processes, data_s, update_s)

    def _next_batch(self) -> dict[str, Any]:
        if self._iterator is None:
            self._iterator = iter(self.batches)
        return next(self._iterator)

    def _learn(self, batch: Mapping[str, Any], last: bool) -> dict[str, torch.Tensor]:
        """Add a batch's gradient; devices exchange theirs with the last one."""
        alone = contextlib.nullcontext() if last else self._accelerator.no_sync(self._learning)
        with alone:
            losses = self._learning(self._prepare(batch))
            self._accelerator.backward(losses["loss"] / self._accumulated)
        return {name: value.detach() for name, value in losses.items()}

    def _update(self) -> torch.Tensor:
        parameters = [value for value in self.objective.parameters() if value.requires_grad]
        norm = self._accelerator.clip_grad_norm_(parameters, self._clip or float("inf"))
        self._applied.step()
        self._applied.zero_grad()
        if not self._accelerator.optimizer_step_was_skipped:  # fp16 finds its scale by failing now and then
            self.scheduler.step()
        return norm

    @property
    def scaler(self) -> Any:
        """What keeps gradients of half precision in their range; None in other precisions."""
        return self._accelerator.scaler

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """Have the policy use the weights that are saved and evaluated."""
        with self.average.in_place() if self.average is not None else contextlib.nullcontext():
            yield
