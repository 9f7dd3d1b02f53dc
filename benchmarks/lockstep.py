"""The baseline: lockstep over Gymnasium's own `AsyncVectorEnv`, as LeRobot evaluates.

Every env renders and sends its observation at every step, all wait for the slowest, and envs that are done are
still stepped until the last one is. The policy is asked when its queue of actions is empty, once for the whole batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from processes import worker_environment
from stand_ins import IMAGE_AND_STATE, PlaybackPolicy

from yardarm.policies import Look, Request
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, Feature, TaskSpec

log = logging.getLogger("benchmark")


@dataclass
class LockstepRun:
    """What lockstep cost, and its rewards."""

    steps: int = 0
    """Steps of a whole batch."""
    step_s: float = 0.0
    calls: int = 0
    infer_s: float = 0.0
    reset_s: float = 0.0
    rewards: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    """Rewards by (task, seed), up to the end of the episode."""

    @property
    def wall_s(self) -> float:
        return self.reset_s + self.step_s + self.infer_s

    def add(self, other: LockstepRun) -> None:
        self.steps += other.steps
        self.step_s += other.step_s
        self.calls += other.calls
        self.infer_s += other.infer_s
        self.reset_s += other.reset_s
        self.rewards.update(other.rewards)

    def scaled_s(self, steps: int, chunk: int, batches: int) -> float:
        """Seconds for this many batches of whole episodes at this pace; without resets, in lockstep's favour."""
        calls = -(-steps // chunk)
        return batches * (steps * self.step_s / self.steps + calls * self.infer_s / self.calls)


class LookingEnv(gymnasium.Env):
    """A simulator that looks at every step."""

    def __init__(self, task: TaskSpec) -> None:
        self._task = task
        self._simulator = None  # `AsyncVectorEnv` creates one env in the main process, to read its spaces
        features = task.env.features
        self.observation_space = gymnasium.spaces.Dict({name: _space(features[name]) for name in IMAGE_AND_STATE})
        self.action_space = gymnasium.spaces.Box(-1, 1, (task.env.action.size,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        if self._simulator is None:
            self._simulator = import_object(self._task.env.simulator)(self._task)
        self._simulator.reset(EpisodeSpec(self._task, 0, seed))
        return self._simulator.observe(IMAGE_AND_STATE), {}

    def step(self, action: np.ndarray):
        step = self._simulator.step(action)
        return self._simulator.observe(IMAGE_AND_STATE), step.reward, step.terminated, step.truncated, {}


def play_lockstep(
    tasks: Sequence[TaskSpec], batches: Sequence[Sequence[int]], policy: PlaybackPolicy, max_steps: int
) -> LockstepRun:
    """Play batches of seeds of each task in turn. Starting processes and building simulators is not counted."""
    run = LockstepRun()
    for task in tasks:
        log.info("  lockstep: %d envs of %s", len(batches[0]), task.name)
        with worker_environment():
            envs = AsyncVectorEnv(
                [partial(LookingEnv, task) for _ in batches[0]], context="spawn", autoreset_mode=AutoresetMode.DISABLED
            )
        envs.reset(seed=list(batches[0]))  # builds the simulators and opens their OpenGL contexts
        for seeds in batches:
            _play_batch(
                envs, [EpisodeSpec(task, index, seed) for index, seed in enumerate(seeds)], policy, max_steps, run
            )
        envs.close()
    return run


def _play_batch(
    envs: AsyncVectorEnv, episodes: Sequence[EpisodeSpec], policy: PlaybackPolicy, max_steps: int, run: LockstepRun
) -> None:
    clock = time.perf_counter
    started = clock()
    observations, _ = envs.reset(seed=[episode.seed for episode in episodes])
    run.reset_s += clock() - started
    states = [policy.start(episode) for episode in episodes]
    done = np.zeros(len(episodes), bool)
    rewards: list[list[float]] = [[] for _ in episodes]
    queue: list[np.ndarray] = []
    for step in range(max_steps):
        if not queue:
            started = clock()
            queue = _ask(policy, episodes, states, observations, step)
            run.infer_s += clock() - started
            run.calls += 1
        started = clock()
        observations, reward, terminated, truncated, _ = envs.step(queue.pop(0))
        run.step_s += clock() - started
        run.steps += 1
        for index in np.flatnonzero(~done):
            rewards[index].append(float(reward[index]))
        done |= terminated | truncated
        if done.all():
            break
    run.rewards.update(
        ((episode.task.name, episode.seed), np.array(values)) for episode, values in zip(episodes, rewards, strict=True)
    )


def _ask(
    policy: PlaybackPolicy,
    episodes: Sequence[EpisodeSpec],
    states: Sequence[np.ndarray],
    observations: Mapping[str, np.ndarray],
    step: int,
) -> list[np.ndarray]:
    """Ask for the next actions of the whole batch, one array per step."""
    requests = [
        Request(episode, state, [Look(step, {name: values[index] for name, values in observations.items()})])
        for index, (episode, state) in enumerate(zip(episodes, states, strict=True))
    ]
    chunks = policy.infer(requests)
    return list(np.stack([chunk.actions for chunk in chunks], axis=1))


def _space(feature: Feature) -> gymnasium.spaces.Box:
    if feature.is_image:
        return gymnasium.spaces.Box(0, 255, feature.shape, np.uint8)
    return gymnasium.spaces.Box(-np.inf, np.inf, feature.shape, np.dtype(feature.dtype).type)
