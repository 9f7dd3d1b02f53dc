"""Step after step until the last one: what is measured, saved and evaluated, and how it stops."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from yardarm.errors import PolicyFault
from yardarm.results import TrainingFolder
from yardarm.training.checkpoints import Checkpoint, write_checkpoint
from yardarm.training.config import TrainConfig
from yardarm.training.evaluations import Evaluations
from yardarm.training.generators import all_generator_states
from yardarm.training.listener import TrainingListener
from yardarm.training.log import StepMeter, TrainingLog
from yardarm.training.state import save_policy, save_state
from yardarm.training.trainer import Trainer
from yardarm.training.validation import Validation

__all__ = ["Loop"]

LOOK_EVERY_S = 0.5


@dataclass
class Loop:
    """One session of a training. On several devices every process has one; the first alone writes and evaluates."""

    config: TrainConfig
    trainer: Trainer
    validation: Validation | None
    folder: TrainingFolder
    listener: TrainingListener
    accelerator: Any
    log: TrainingLog | None = None
    evaluations: Evaluations | None = None
    checkpoint: Checkpoint | None = None
    """The newest."""
    meter: StepMeter = field(default_factory=StepMeter)

    def go(self) -> bool:
        """Train to the last step; false if it stopped before, with a checkpoint."""
        options, trainer = self.config.options, self.trainer
        while trainer.step < options.steps:
            self.meter.add(trainer.advance())
            if self._is_due(options.log_freq):
                self._measure()
            if self.validation is not None and self._is_due(options.eval_steps):
                self.tell(self.validation.measure(trainer))
            if self._is_due(options.save_freq or 0) and options.save_checkpoint:
                self.save()
            if self._is_due(options.eval_freq):
                self._evaluate()
            self._look_around()
            if self._shall_stop() and trainer.step < options.steps:
                if options.save_checkpoint:
                    self.save()
                return False
        return self._wait_for_evaluations()

    def _is_due(self, every: int) -> bool:
        step, last = self.trainer.step, self.config.options.steps
        return step == last or (every > 0 and step % every == 0)

    def _measure(self) -> None:
        elapsed = self.log.wall_s if self.log else 0.0
        point = self.meter.point(self.trainer.step, self.trainer.steps_per_epoch, elapsed)
        if not math.isfinite(point["loss"]):
            raise PolicyFault(
                f"the loss is {point['loss']} by step {self.trainer.step}: the weights are useless now; start "
                "again with a smaller learning rate (--optimizer.lr), or look for NaN in the dataset"
            )
        self.tell(point)

    def tell(self, point: dict[str, Any]) -> None:
        """Add a point to the learning curve, and say so."""
        if self.log is not None:
            self.log.add(point)
            self.listener.point(point)

    def _look_around(self) -> None:
        if self.log is not None:
            self.log.stepped(self.trainer.step)
            self.listener.stepped(self.trainer.step)
        # A signal that stops the training may have reached its evaluations, too: that does not count as a failure.
        if self.evaluations is not None and not self.listener.shall_stop():
            self.evaluations.look()

    def _shall_stop(self) -> bool:
        """All processes stop after the same step."""
        wish = self.listener.shall_stop()
        if self.accelerator.num_processes == 1:
            return wish
        return bool(self.accelerator.reduce(torch.tensor(float(wish), device=self.accelerator.device)) > 0)

    def save(self) -> None:
        """Write a checkpoint of this step, unless there is one."""
        if self.checkpoint is not None and self.checkpoint.step == self.trainer.step:
            return
        generators = all_generator_states(self.accelerator)
        if self.log is not None:

            def fill(checkpoint: Checkpoint) -> None:
                save_policy(self.trainer, self.config, checkpoint.policy)
                save_state(self.trainer, generators, checkpoint.state)

            self.checkpoint = write_checkpoint(self.folder.checkpoints, self.trainer.step, fill)
            path = self.checkpoint.path.relative_to(self.folder.path)
            self.tell({"kind": "checkpoint", "step": self.trainer.step, "path": str(path)})
            self.log.curve.sync()
        self.accelerator.wait_for_everyone()

    def _evaluate(self) -> None:
        """Have the weights of this step evaluated: those of its checkpoint, or a snapshot."""
        if self.evaluations is None:
            return
        step = self.trainer.step
        if self.checkpoint is not None and self.checkpoint.step == step:
            policy = self.checkpoint.policy
        else:
            policy = self.evaluations.snapshot_folder(step)
            save_policy(self.trainer, self.config, policy)
        self.evaluations.add(step, policy)
        if not self.config.eval.background:
            self._wait_for_evaluations()

    def _wait_for_evaluations(self) -> bool:
        """Wait for the remaining evaluations; false if a stop came first."""
        if self.evaluations is None:
            return True
        announced = 0
        while left := self.evaluations.left:
            if self.listener.shall_stop():
                return False
            if left != announced:
                self.listener.waiting(left)
                announced = left
            self.evaluations.wait(LOOK_EVERY_S)
        return True
