"""Stand-ins for what a user evaluates: a policy that plays recorded actions, and tasks made for measuring."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from costs import CostedSimulator

from yardarm.envs import Observation, Step
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.tasks import ActionSpec, BenchmarkConfig, EnvSpec, EpisodeSpec, TaskSpec
from yardarm.tasks.metaworld import MetaworldConfig

HORIZON = 500
IMAGE_AND_STATE = ("observation.image", "observation.state")
STATE_ONLY = ("observation.state",)


def recorded_actions(episode: EpisodeSpec) -> np.ndarray:
    """The actions of an episode, which are small: the arm trembles on the spot, and no task is solved."""
    generator = np.random.default_rng([episode.seed, *episode.task.name.encode()])
    return generator.uniform(-0.1, 0.1, (HORIZON, episode.task.env.action.size)).astype(np.float32)


def spin(seconds: float) -> None:
    """Use a core for this many CPU-seconds, holding Python's lock, which is the worst that a policy can do."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class PlaybackPolicy:
    """Uses a fixed CPU time, whatever the batch, and answers with the next recorded actions."""

    place: Literal["host"] = "host"

    def __init__(self, chunk: int, inputs: tuple[str, ...], think_s: float = 0.0) -> None:
        self.id = f"playback-{chunk}"
        self.wants = ObservationSpec(inputs)
        self.chunk = chunk
        self.think_s = think_s
        self.quick = think_s == 0
        self.calls = 0
        self.requests = 0

    def start(self, episode: EpisodeSpec) -> np.ndarray:
        return recorded_actions(episode)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        self.calls += 1
        self.requests += len(requests)
        spin(self.think_s)
        return [ActionChunk(self._next_actions(request)) for request in requests]

    def _next_actions(self, request: Request) -> np.ndarray:
        played = request.looks[-1].step
        return request.state[played : played + self.chunk]


def unequal_length(seed: int, limit: int) -> int:
    """An episode's length under a policy that solves half of them, after 10–40% of the allowed steps."""
    generator = np.random.default_rng(seed)
    solved = generator.random() < 0.5
    return max(1, round(limit * generator.uniform(0.1, 0.4))) if solved else limit


@dataclass
class CostedConfig(MetaworldConfig):
    """Meta-World, with simulators that measure their own cost."""

    simulator: ClassVar[str] = "costs:CostedSimulator"

    def tasks(self) -> tuple[TaskSpec, ...]:
        return tuple(replace(task, env=replace(task.env, simulator=self.simulator)) for task in super().tasks())


@dataclass
class UnequalConfig(CostedConfig):
    """Meta-World with episodes that end at different times."""

    simulator: ClassVar[str] = "stand_ins:UnequalSimulator"


class UnequalSimulator(CostedSimulator):
    """Ends its episodes early."""

    def length(self, episode: EpisodeSpec) -> int:
        return unequal_length(episode.seed, self._limit)


@dataclass
class InstantConfig(BenchmarkConfig):
    """A benchmark whose only task takes no time at all: only the engine's overhead remains."""

    name: ClassVar[str] = "instant"
    task: str = "instant"

    def tasks(self) -> tuple[TaskSpec, ...]:
        env = EnvSpec("stand_ins:InstantSimulator", {}, ActionSpec(size=1, low=-1.0, high=1.0), preload=("stand_ins",))
        return (TaskSpec(self.name, self.task, 0, self.task, "", max_steps=1, fps=1, env=env),)


class InstantSimulator:
    """Its episodes end after one step."""

    def __init__(self, task: TaskSpec) -> None:
        pass

    def reset(self, episode: EpisodeSpec) -> None:
        self._state = np.array([float(episode.seed)])

    def step(self, action: np.ndarray) -> Step:
        return Step(reward=1.0, success=True, terminated=True, truncated=False)

    def observe(self, wanted: Sequence[str]) -> Observation:
        return {}

    def state(self) -> np.ndarray:
        return self._state

    def close(self) -> None:
        pass
