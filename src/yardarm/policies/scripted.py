"""Policies without weights: random, zero, and the scripted experts of worlds. They run inside the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from yardarm.policies.protocol import ActionChunk, ObservationSpec, Request
from yardarm.policies.traits import Traits
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec

__all__ = ["ExpertPolicy", "RandomPolicy", "ScriptedExpert", "ZeroPolicy"]

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


class ScriptedExpert(Protocol):
    """What a world's `EnvSpec.expert` names: it is called with the `EpisodeSpec`, and plays that episode."""

    def actions(self, state: np.ndarray) -> np.ndarray:
        """The next actions, one per row, for the world's ``observation.environment_state``."""


class ExpertPolicy:
    """The scripted expert that a task brings along: about the best that can be reached."""

    id = "expert"
    traits = Traits(scripted=True, needs_expert=True)
    wants = ObservationSpec(inputs=("observation.environment_state",))
    place: Literal["worker"] = "worker"

    def start(self, episode: EpisodeSpec) -> ScriptedExpert:
        """Make the expert of the episode's task."""
        expert: ScriptedExpert = import_object(episode.task.env.expert)(episode)
        return expert

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Ask each episode's expert."""
        chunks = []
        for request in requests:
            actions = request.state.actions(request.observation["observation.environment_state"])
            bounds = request.episode.task.env.action
            chunks.append(ActionChunk(np.clip(actions, bounds.low, bounds.high)))
        return chunks
