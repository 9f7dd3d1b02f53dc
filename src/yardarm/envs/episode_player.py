"""Plays episodes of one task in one simulator, in a worker or in the main process."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from yardarm.envs.messages import Film, Rollout, Timing
from yardarm.envs.simulator import Simulator, fingerprint
from yardarm.errors import EnvironmentFault, PolicyFault, one_line, trace_of
from yardarm.policies import Look, PlayableChunk, Policy, Request, playable
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["EpisodePlayer"]

# Often enough to find where a replay diverged, rarely enough to cost nothing.
FINGERPRINT_EVERY = 100
ROBOT_STATE = "observation.state"


class EpisodePlayer:
    """Builds the task's simulator on first use, and keeps it for later episodes."""

    def __init__(self, task: TaskSpec, on_frame: Callable[[np.ndarray], None] | None = None) -> None:
        self._task = task
        self._on_frame = on_frame
        self._simulator: Simulator | None = None
        self._build_s = 0.0

    def begin(self, episode: EpisodeSpec, film: Film | None = None) -> None:
        """Reset the simulator for an episode."""
        simulator = self._built()
        started = time.perf_counter()
        simulator.reset(episode)
        self._episode = episode
        self._film = film
        self._actions: list[np.ndarray] = []
        self._rewards: list[float] = []
        self._success = self._terminated = self._truncated = False
        self._initial_state = simulator.state()
        self._robot_began = self._robot()
        self._fingerprints = {0: fingerprint(self._initial_state)}
        self._timing = Timing(build_s=self._build_s, reset_s=time.perf_counter() - started)
        self._build_s = 0.0
        self._film_frame()

    @property
    def steps(self) -> int:
        """Number of actions played in this episode."""
        return len(self._rewards)

    @property
    def done(self) -> bool:
        """Whether the episode was ended, by the simulator or by the task's step limit."""
        return self._terminated or self._truncated or self.steps >= self._task.max_steps

    def look(self, wanted: tuple[str, ...]) -> Look:
        """Read the current inputs."""
        started = time.perf_counter()
        values = self._built().observe(wanted)
        self._timing.look_s += time.perf_counter() - started
        return Look(self.steps, values)

    def play(self, chunk: PlayableChunk) -> list[Look]:
        """Play a chunk until it or the episode ends; return the looks that the chunk asked for."""
        simulator = self._built()
        looks: list[Look] = []
        started, look_s = time.perf_counter(), self._timing.look_s
        for offset, action in enumerate(chunk.actions, start=1):
            step = simulator.step(action.copy())  # a copy, because some simulators modify their actions
            if not math.isfinite(step.reward):
                raise EnvironmentFault(f"the simulator's reward after step {self.steps + 1} is {step.reward}")
            self._actions.append(action)
            self._rewards.append(step.reward)
            self._success |= step.success
            self._terminated, self._truncated = step.terminated, step.truncated
            if self.steps % FINGERPRINT_EVERY == 0:
                self._fingerprints[self.steps] = fingerprint(simulator.state())
            self._film_frame()
            if self.done:
                break
            if offset in chunk.looks:
                looks.append(self.look(chunk.looks[offset]))
        looked_s = self._timing.look_s - look_s
        self._timing.step_s += time.perf_counter() - started - looked_s
        return looks

    def run(self, episode: EpisodeSpec, policy: Policy, on_progress: Callable[[int], None]) -> None:
        """Play a whole episode with a policy in this process."""
        with _blaming_the_policy():
            state = policy.start(episode)
        looks = [self.look(policy.wants.inputs)]
        while not self.done:
            started = time.perf_counter()
            with _blaming_the_policy():
                (chunk,) = policy.infer([Request(episode, state, looks)])
            ready = playable(chunk, policy.wants, episode.task)
            self._timing.policy_s += time.perf_counter() - started
            looks = self.play(ready)
            on_progress(self.steps)

    def rollout(self) -> Rollout:
        """The record of the finished episode."""
        self._fingerprints[self.steps] = fingerprint(self._built().state())
        return Rollout(
            success=self._success,
            terminated=self._terminated,
            actions=np.stack(self._actions),
            rewards=np.array(self._rewards),
            initial_state=self._initial_state,
            fingerprints=self._fingerprints,
            travel=float(np.abs(self._robot() - self._robot_began).max()),
            timing=self._timing,
        )

    def close(self) -> None:
        """Close the simulator, if there is one."""
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def _built(self) -> Simulator:
        if self._simulator is None:
            started = time.perf_counter()
            self._simulator = import_object(self._task.env.simulator)(self._task)
            self._build_s = time.perf_counter() - started
        return self._simulator

    def _robot(self) -> np.ndarray:
        """The robot's own state, as policies see it."""
        if ROBOT_STATE not in self._task.env.features:
            return np.array([math.nan])
        return np.array(self._built().observe((ROBOT_STATE,))[ROBOT_STATE], dtype=np.float64)

    def _film_frame(self) -> None:
        film = self._film
        if film is None or self._on_frame is None or self.steps < film.first:
            return
        if self.steps % film.every and not self.done:
            return
        self._on_frame(self._built().frame(film.camera, film.height, film.width))


@contextlib.contextmanager
def _blaming_the_policy() -> Iterator[None]:
    """Turn any exception into a `PolicyFault`: unlike a simulator's fault, it would happen again."""
    try:
        yield
    except PolicyFault:  # already explains itself
        raise
    except (Exception, SystemExit) as error:
        raise PolicyFault(f"the policy raised {one_line(error)}", trace_of(error)) from error
