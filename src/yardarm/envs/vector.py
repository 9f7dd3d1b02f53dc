"""Yardarm's tasks as Gymnasium environments, for users with their own loop: `yardarm.make_env`."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

from yardarm.envs.launching import Launchers
from yardarm.envs.names import environment_names
from yardarm.envs.rendering import use_backend
from yardarm.envs.simulator import Simulator
from yardarm.registry import import_object
from yardarm.tasks import FIRST_SEED, ActionSpec, EpisodeSpec, Feature, TaskSpec

__all__ = ["LazyVectorEnv", "TaskEnv", "vector_envs"]


class TaskEnv(gymnasium.Env[Any, np.ndarray]):
    """One task. Episode k has the seed 1000 + k, as in an evaluation, so a seed identifies an episode.

    A reset without a seed starts the next episode. Of n parallel environments, the first plays the episodes 0, n, 2n,
    …, the second 1, n + 1, and so on. The simulator is built at the first reset.
    """

    def __init__(self, task: TaskSpec, number: int = 0, count: int = 1) -> None:
        self.task_spec = task
        self.task = task.name
        self.task_description = task.instruction
        self._max_episode_steps = task.max_steps
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": task.fps}
        self.render_mode = "rgb_array" if task.env.cameras else None
        self.observation_space = spaces.Dict(environment_spaces(task))
        self.action_space = _action_space(task.env.action)
        self._simulator: Simulator | None = None
        self._next_episode = number
        self._count = count
        self._steps = 0
        self._closes_at_exit = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the seed's episode, or the next one."""
        super().reset(seed=seed)
        episode = self._next_episode if seed is None else seed - FIRST_SEED
        self._next_episode = episode + self._count
        self._steps = 0
        self._built().reset(EpisodeSpec(self.task_spec, episode, FIRST_SEED + episode))
        observation = self._observation()
        if not self._closes_at_exit:
            # In case the user forgets to close it. Handlers run in reverse order: registered after the first drawing,
            # this one runs before OpenGL's own, which complains about contexts that are still open.
            atexit.register(_close, weakref.ref(self))
            self._closes_at_exit = True
        return observation, {"is_success": False}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action, and return all observations."""
        step = self._built().step(np.array(action, np.float32))
        self._steps += 1
        truncated = step.truncated or (self._steps >= self.task_spec.max_steps and not step.terminated)
        return self._observation(), step.reward, step.terminated, truncated, {"is_success": step.success}

    def render(self) -> Any:
        """A picture from the task's first camera, as large as the policy's first image."""
        env = self.task_spec.env
        images = [feature.shape[:2] for feature in env.features.values() if feature.is_image]
        height, width = env.frame_size or (images[0] if images else (480, 480))
        return self._built().frame(env.cameras[0], height, width)

    def close(self) -> None:
        """Free the simulator; the next reset builds another."""
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def _observation(self) -> dict[str, Any]:
        values = self._built().observe(tuple(self.task_spec.env.features))
        return environment_names({name: np.array(value) for name, value in values.items()})

    def _built(self) -> Simulator:
        if self._simulator is None:
            _prepare_to_render(self.task_spec)
            simulator: Simulator = import_object(self.task_spec.env.simulator)(self.task_spec)
            self._simulator = simulator
        return self._simulator


class LazyVectorEnv(VectorEnv[Any, Any, Any]):
    """Parallel environments of one task, in this process or in one each; they exist from first use to `close`.

    So the environments of a whole benchmark take no resources before and after their turn.
    """

    def __init__(self, task: TaskSpec, n_envs: int, asynchronous: bool) -> None:
        self.num_envs = n_envs
        single = TaskEnv(task)
        self.metadata = {**single.metadata, "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self.render_mode = single.render_mode
        self.single_observation_space = single.observation_space
        self.single_action_space = single.action_space
        self.observation_space = batch_space(single.observation_space, n_envs)
        self.action_space = batch_space(single.action_space, n_envs)
        self._task = task
        self._makers = [partial(TaskEnv, task, number, n_envs) for number in range(n_envs)]
        self._asynchronous = asynchronous and n_envs > 1
        self._inner: Any = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in each environment."""
        return self._built().reset(seed=seed, options=options)

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action in each environment; where an episode has ended, start the next one instead."""
        return self._built().step(actions)

    def render(self) -> tuple[Any, ...]:
        """A picture of each environment."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or get an attribute: ``call("task_description")``, ``call("render")``."""
        return self._built().call(name, *args, **kwargs)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment."""
        return self.call(name)

    def close(self, **kwargs: Any) -> None:
        """Free the simulators; the next use builds new ones."""
        if self._inner is not None:
            self._inner.close(**kwargs)
            self._inner = None

    def _built(self) -> Any:
        if self._inner is None:
            _prepare_to_render(self._task)
            # New processes instead of forks, which might inherit a half-initialised graphics library.
            self._inner = (
                AsyncVectorEnv(self._makers, context="spawn") if self._asynchronous else SyncVectorEnv(self._makers)
            )
        return self._inner


def vector_envs(tasks: Sequence[TaskSpec], n_envs: int, use_async_envs: bool) -> dict[str, dict[int, LazyVectorEnv]]:
    """``{suite: {task_id: environments}}``, as LeRobot's `make_env` returns."""
    suites: dict[str, dict[int, LazyVectorEnv]] = {}
    for task in tasks:
        suites.setdefault(task.group, {})[task.index] = LazyVectorEnv(task, n_envs, use_async_envs)
    return suites


def _close(reference: weakref.ref[TaskEnv]) -> None:
    env = reference()
    if env is not None:
        env.close()


def _prepare_to_render(task: TaskSpec) -> None:
    """Make this process, and those that it starts, render with a backend that works in a worker."""
    if task.env.renderer and not os.environ.get("MUJOCO_GL"):
        with contextlib.closing(Launchers()) as launchers:
            use_backend(launchers.find_renderer(task.env.home)[0])


def environment_spaces(task: TaskSpec) -> dict[str, Any]:
    """The spaces of a task's observations, nested as Gymnasium environments nest them."""
    named = environment_names({name: _space(feature) for name, feature in task.env.features.items()})
    return {key: spaces.Dict(value) if isinstance(value, dict) else value for key, value in named.items()}


def _space(feature: Feature) -> spaces.Box:
    dtype: Callable[..., Any] = np.dtype(feature.dtype).type
    if feature.is_image:
        return spaces.Box(0, 255, feature.shape, np.uint8)
    whole = np.iinfo(feature.dtype) if np.issubdtype(feature.dtype, np.integer) else None
    low, high = (whole.min, whole.max) if whole else (-np.inf, np.inf)
    return spaces.Box(low, high, feature.shape, dtype)


def _action_space(action: ActionSpec) -> spaces.Space[Any]:
    low, high = (np.broadcast_to(np.asarray(bound, np.float32), action.size) for bound in (action.low, action.high))
    if action.discrete:
        return spaces.MultiDiscrete((high - low + 1).astype(np.int64), start=low.astype(np.int64))
    return spaces.Box(low, high, dtype=np.float32)
