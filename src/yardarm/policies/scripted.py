"""Policies without weights: random, zero, and scripted experts. They run inside the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from yardarm.policies.protocol import ActionChunk, ObservationSpec, Request
from yardarm.policies.traits import Traits
from yardarm.tasks import EpisodeSpec

__all__ = ["ExpertPolicy", "RandomPolicy", "ZeroPolicy"]

# Long enough to cost nothing per action, short enough that an early success wastes little.
CHUNK = 50
# How far a random action goes where nothing bounds it.
UNBOUNDED = 1.0


class ZeroPolicy:
    """Does nothing: the floor that any policy must beat."""

    id = "zero"
    traits = Traits(scripted=True)
    wants = ObservationSpec()
    place: Literal["worker"] = "worker"

    def start(self, episode: EpisodeSpec) -> None:
        """It has no state."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Answer with zeros."""
        return [ActionChunk(np.zeros((CHUNK, request.episode.task.env.action.size))) for request in requests]


class RandomPolicy:
    """Draws each action uniformly between the action's bounds, from the episode's own generator."""

    id = "random"
    traits = Traits(scripted=True)
    wants = ObservationSpec()
    place: Literal["worker"] = "worker"

    def start(self, episode: EpisodeSpec) -> np.random.Generator:
        """Seed a generator with the episode's seed and its task's name."""
        return np.random.default_rng([episode.seed, *episode.task.name.encode()])

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Draw a chunk for each request."""
        chunks = []
        for request in requests:
            action = request.episode.task.env.action
            shape = (CHUNK, action.size)
            if action.discrete:
                drawn = request.state.integers(action.low, action.high, shape, endpoint=True).astype(np.float64)
            else:
                low = np.nan_to_num(action.low, neginf=-UNBOUNDED)
                high = np.nan_to_num(action.high, posinf=UNBOUNDED)
                drawn = request.state.uniform(low, high, shape)
            chunks.append(ActionChunk(drawn))
        return chunks


class ExpertPolicy:
    """The scripted policy of each task, Meta-World's own or a twin's scene's: about the best that can be reached."""

    id = "expert"
    traits = Traits(scripted=True, benchmarks=("metaworld", "so101_twin"))
    wants = ObservationSpec(inputs=("observation.environment_state",))
    place: Literal["worker"] = "worker"

    def start(self, episode: EpisodeSpec) -> Any:
        """Make the expert of the episode's task."""
        if episode.task.benchmark == "so101_twin":
            from yardarm.robots.twins.world import ScriptedPlan

            return ScriptedPlan(episode.seed, episode.task.fps)
        from metaworld.policies import ENV_POLICY_MAP

        return ENV_POLICY_MAP[episode.task.name]()

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Ask each episode's expert: Meta-World's reads all 39 raw values at every step, the other plans once."""
        chunks = []
        for request in requests:
            seen = request.observation["observation.environment_state"]
            is_plan = request.episode.task.benchmark == "so101_twin"
            actions = request.state.actions(seen.tolist()) if is_plan else request.state.get_action(seen)[None]
            bounds = request.episode.task.env.action
            chunks.append(ActionChunk(np.clip(actions, bounds.low, bounds.high)))
        return chunks
