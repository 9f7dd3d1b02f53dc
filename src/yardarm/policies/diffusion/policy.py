"""Diffusion Policy as a policy: what it remembers of an episode, and which actions of the horizon are played."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from yardarm.policies.batching import Row
from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.learned.noise import NOISE, NoiseState, PolicyFromNoise, episode_generator
from yardarm.policies.processing import TASK_VECTOR, Tensors
from yardarm.policies.protocol import ActionChunk, Look, Request
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["DiffusionPolicy", "DiffusionState"]

logger = logging.getLogger(__name__)


class DiffusionPolicy(PolicyFromNoise):
    """Looks at the last `n_obs_steps` steps, plays `n_action_steps` actions."""

    def __init__(self, architecture: Architecture, config: DiffusionConfig, *parts: Any) -> None:
        super().__init__(architecture, config, *parts)
        if config.compile_model:
            logger.warning("compile_model=true is for training: inference is not compiled, the results are the same")

    def start(self, episode: EpisodeSpec) -> DiffusionState:
        """An episode has a history, and noise that is its own."""
        looks: deque[Mapping[str, np.ndarray]] = deque(maxlen=self.config.n_obs_steps)
        return DiffusionState(self.conditioning(episode.task), episode_generator(episode), looks)

    def conditioning(self, task: TaskSpec) -> dict[str, np.ndarray]:
        """A task's vector is the same at each observation step."""
        known = super().conditioning(task)
        steps = self.config.n_obs_steps
        return {name: np.tile(value, (steps, 1)) if name == TASK_VECTOR else value for name, value in known.items()}

    def row(self, request: Request) -> Row:
        """The history, with a first look standing in for those before it, and fresh noise."""
        state: DiffusionState = request.state
        state.add(request.looks)
        history = {name: np.stack([look[name] for look in state.looks]) for name in self.wants.inputs}
        return {**super().row(request), **history}

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """Each input at each observation step, and noise."""
        shapes = super().row_shapes()
        return {name: shape if name == NOISE else (self.config.n_obs_steps, *shape) for name, shape in shapes.items()}

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """A horizon of noise for each draw."""
        return (self.network.sampler.draws, self.config.horizon, self.config.action_size)

    def forward(self, inputs: Tensors) -> Tensor:
        """Denoise; the horizon begins with the oldest observation."""
        noise = inputs[NOISE].transpose(0, 1)
        return self.network(inputs, noise)[:, self.config.n_obs_steps - 1 :]

    def answer(self, state: DiffusionState, chunk: np.ndarray) -> ActionChunk:
        """Look at the last steps that the next inference will read."""
        actions = chunk[: self.config.n_action_steps]
        first = max(1, len(actions) - self.config.n_obs_steps + 1)
        return ActionChunk(actions, dict.fromkeys(self.wants.inputs, range(first, len(actions) + 1)))


@dataclass(slots=True)
class DiffusionState(NoiseState):
    """What belongs to one episode: its own noise, and the last looks."""

    looks: deque[Mapping[str, np.ndarray]]

    def add(self, looks: Sequence[Look]) -> None:
        """Copy observations, which lie in memory that is written again."""
        for look in looks:
            self.looks.append({name: value.copy() for name, value in look.values.items()})
        while len(self.looks) < (self.looks.maxlen or 0):
            self.looks.appendleft(self.looks[0])
