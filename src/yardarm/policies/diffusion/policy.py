"""Diffusion Policy as a policy: what it remembers of an episode, and which actions of the horizon are played."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from yardarm.policies.batching import Observations
from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.network import DiffusionNetwork
from yardarm.policies.diffusion.objective import DiffusionObjective
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import Batch
from yardarm.policies.protocol import ActionChunk, Look, Request
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["NOISE", "DiffusionPolicy", "Memory"]

logger = logging.getLogger(__name__)

# The noise of a row travels with what was seen: (draw, horizon, action).
NOISE = "noise"


class DiffusionPolicy(LearnedPolicy):
    """Looks at the last `n_obs_steps` steps, plays `n_action_steps` actions."""

    config_class: ClassVar[type[DiffusionConfig]] = DiffusionConfig
    network_class: ClassVar[type[DiffusionNetwork]] = DiffusionNetwork
    objective_class: ClassVar[type[DiffusionObjective]] = DiffusionObjective
    prefix: ClassVar[str] = "diffusion."
    # The U-Net's convolutions over time, what tells it of steps and of what was seen, and the end of image encoders.
    adapted: ClassVar[tuple[str, ...]] = (
        *("block.0", "cond_encoder.1", "final_conv.1"),
        *("diffusion_step_encoder.1", "diffusion_step_encoder.3", "out"),
    )

    def __init__(self, config: DiffusionConfig, *parts: Any) -> None:
        super().__init__(config, *parts)
        if config.compile_model:
            logger.warning("compile_model=true is for training: inference is not compiled, the results are the same")

    def start(self, episode: EpisodeSpec) -> Memory:
        """An episode has a history, and noise that is its own."""
        super().start(episode)
        name = hashlib.sha256(repr(episode.key()).encode()).digest()
        return Memory(np.random.default_rng(list(name)), deque(maxlen=self.config.n_obs_steps))

    def row(self, request: Request) -> Mapping[str, np.ndarray]:
        """The history, with a first look standing in for those before it, and fresh noise."""
        memory: Memory = request.state
        memory.add(request.looks)
        seen = {name: np.stack([look[name] for look in memory.looks]) for name in self.wants.inputs}
        noise = memory.generator.standard_normal(self._noise_shape, dtype=np.float32)
        return {**seen, **self.telling(request.episode.task), NOISE: noise}

    def telling(self, task: TaskSpec) -> dict[str, np.ndarray]:
        """The same at each observation step."""
        told = super().telling(task)
        return {name: np.tile(value, (self.config.n_obs_steps, 1)) for name, value in told.items()}

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """Each input at each observation step, and noise."""
        seen = {name: (self.config.n_obs_steps, *shape) for name, shape in super().row_shapes().items()}
        return {**seen, NOISE: self._noise_shape}

    @property
    def _noise_shape(self) -> tuple[int, ...]:
        return (self.network.sampler.draws, self.config.horizon, self.config.action_size)

    def predict(self, observations: Observations) -> np.ndarray:
        """Chunks for observations (batch, observation step, …); noise is drawn unless it is among them."""
        if NOISE not in observations:
            rows = len(next(iter(observations.values())))
            noise = np.random.default_rng().standard_normal((rows, *self._noise_shape), dtype=np.float32)
            observations = {**observations, NOISE: noise}
        return super().predict(observations)

    def forward(self, inputs: Batch) -> Tensor:
        """Denoise; the horizon begins with the oldest observation."""
        noise = inputs[NOISE].transpose(0, 1)
        return self.network(inputs, noise)[:, self.config.n_obs_steps - 1 :]

    def answer(self, state: Memory, chunk: np.ndarray) -> ActionChunk:
        """Look at the last steps that the next inference will read."""
        actions = chunk[: self.config.n_action_steps]
        first = max(1, len(actions) - self.config.n_obs_steps + 1)
        return ActionChunk(actions, dict.fromkeys(self.wants.inputs, range(first, len(actions) + 1)))


@dataclass(slots=True)
class Memory:
    """What belongs to one episode."""

    generator: np.random.Generator
    looks: deque[Mapping[str, np.ndarray]]

    def add(self, looks: Sequence[Look]) -> None:
        """Copy what was seen, which lies in memory that is written again."""
        for look in looks:
            self.looks.append({name: value.copy() for name, value in look.values.items()})
        while len(self.looks) < (self.looks.maxlen or 0):
            self.looks.appendleft(self.looks[0])
