"""Plays episodes of one task in one simulator. The same in a worker and in the main process."""

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

# Often enough to tell where a replay diverged, seldom enough to cost nothing.
FINGERPRINT_EVERY = 100
ROBOT_STATE = "observation.state"


class EpisodePlayer:
    """Builds the task's simulator on first use, and keeps it for the task's further episodes."""

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
        """How many actions of this episode were played."""
        return len(self._rewards)

    @property
    def done(self) -> bool:
        """Whether the episode is over: ended by the simulator, or by the task's step limit."""
        return self._terminated or self._truncated or self.steps >= self._task.max_steps

    def look(self, wanted: tuple[str, ...]) -> Look:
        """Read inputs as they are now."""
        started = time.perf_counter()
        values = self._built().observe(wanted)
        self._timing.look_s += time.perf_counter() - started
        return Look(self.steps, values)

    def play(self, chunk: PlayableChunk) -> list[Look]:
        """Play a chunk until its end or the episode's; return the looks that it asked for."""
        simulator = self._built()
        looks: list[Look] = []
        started, look_s = time.perf_counter(), self._timing.look_s
        for offset, action in enumerate(chunk.actions, start=1):
            step = simulator.step(action.copy())  # a copy, because some simulators write into their actions
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
        """Play a whole episode with a policy that lives here."""
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
        """What there is to tell of the finished episode."""
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
        if film is None or self._on_frame is None or (self.steps % film.every and not self.done):
            return
        self._on_frame(self._built().frame(film.camera, film.height, film.width))


@contextlib.contextmanager
def _blaming_the_policy() -> Iterator[None]:
    """What raises in a policy is no fault of the simulator's: running the episode again would not help."""
    try:
        yield
    except PolicyFault:  # it says itself what is wrong
        raise
    except (Exception, SystemExit) as error:
        raise PolicyFault(f"the policy raised {one_line(error)}", trace_of(error)) from error
