"""The loss of held-out episodes: the same samples and the same noise each time, without learning from them."""

from __future__ import annotations

from typing import Any

import torch

from yardarm.datasets import DatasetLoader, LeRobotDataset
from yardarm.policies.learning import PolicyConfig
from yardarm.training.config import TrainOptions
from yardarm.training.data import worker_options
from yardarm.training.samples import Preparation
from yardarm.training.trainer import Trainer

__all__ = ["Validation"]


class Validation:
    """Measures a policy on what it has not seen."""

    def __init__(
        self, dataset: LeRobotDataset, config: PolicyConfig, options: TrainOptions, prepare: Preparation
    ) -> None:
        self._prepare = prepare
        self._most = options.max_eval_samples or len(dataset)
        self._loader = DatasetLoader(
            dataset,
            options.batch_size,
            seed=options.seed,
            drop_n_last_frames=config.frames_left_out,
            **worker_options(options, bool(config.images)),
        )
        self._place = self._loader.state_dict()

    @torch.no_grad()
    def measure(self, trainer: Trainer) -> dict[str, Any]:
        """A point of the learning curve."""
        self._loader.load_state_dict(self._place)
        sums: dict[str, float] = {}
        samples = 0
        trainer.objective.eval()
        with trainer.averaged(), torch.random.fork_rng():
            torch.manual_seed(0)
            for batch in self._loader:
                count = len(batch["action"])
                for name, value in trainer.objective(self._prepare(batch)).items():
                    sums[name] = sums.get(name, 0.0) + float(value) * count
                samples += count
                if samples >= self._most:
                    break
        means = {name: value / samples for name, value in sums.items()}
        loss = means.pop("loss")
        return {"kind": "validation", "step": trainer.step, "loss": loss, "parts": means, "samples": samples}
