"""One interface for Gymnasium environments, single or in a vector of one, with flat observations."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from yardarm.envs import policy_names
from yardarm.errors import UsageError
from yardarm.simulators.gym_actions import describe_action, neutral_action
from yardarm.tasks import Feature

__all__ = ["GymEnv", "VectorOfOne", "describe", "is_yes", "no_success_entry", "wrapped"]

DEFAULT_FPS = 30
NUMBERS = "biuf"
# How long to wait, in a trial before the run, for an environment to report success or failure.
LONGEST_TRIAL_S = 20.0


class GymEnv:
    """One environment, with observations named like a policy's inputs."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def observation_space(self) -> gymnasium.Space:
        """The space of one environment's observations."""
        return self.env.observation_space

    @property
    def action_space(self) -> gymnasium.Space:
        """The space of one environment's actions."""
        return self.env.action_space

    def reset(self, seed: int) -> dict[str, np.ndarray]:
        """Start an episode."""
        observation, _ = self.env.reset(seed=seed)
        return self._flat(observation)

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, Mapping[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._flat(observation), float(reward), bool(terminated), bool(truncated), info

    def render(self) -> np.ndarray | None:
        """A picture, if the environment draws any."""
        return self.env.render()

    def attribute(self, name: str) -> Any:
        """An attribute of the first wrapper or environment that has it; None if none does."""
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError:
            return None

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _flat(self, observation: Any) -> dict[str, np.ndarray]:
        """The observation without values that are not numbers, such as text."""
        flat = policy_names(observation, is_image=_is_image(self.observation_space))
        arrays = {name: np.asarray(value) for name, value in flat.items() if not isinstance(value, tuple)}
        return {name: value for name, value in arrays.items() if value.dtype.kind in NUMBERS}


class VectorOfOne(GymEnv):
    """A vector environment with one place: what LeRobot's `make_env` returns."""

    @property
    def observation_space(self) -> gymnasium.Space:
        """The space of the one environment's observations."""
        return self.env.single_observation_space

    @property
    def action_space(self) -> gymnasium.Space:
        """The space of the one environment's actions."""
        return self.env.single_action_space

    def reset(self, seed: int) -> dict[str, np.ndarray]:
        """Start an episode."""
        observation, _ = self.env.reset(seed=[seed])
        return self._first(observation)

    def step(self, action: Any) -> tuple[dict[str, np.ndarray], float, bool, bool, Mapping[str, Any]]:
        """Play one action."""
        observation, reward, terminated, truncated, info = self.env.step(action[None])
        return self._first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _info_of_one(info)

    def render(self) -> np.ndarray | None:
        """A picture, if the environment draws any."""
        pictures = self.env.call("render")
        return pictures[0] if pictures is not None else None

    def attribute(self, name: str) -> Any:
        """An attribute of the environment, or otherwise of the vector; None if neither has it."""
        try:
            return self.env.get_attr(name)[0]
        except Exception:  # the vector's own worker process may raise anything
            return getattr(self.env, name, None)

    def _first(self, observation: Any) -> dict[str, np.ndarray]:
        return {name: value[0] for name, value in self._flat(observation).items()}


def wrapped(env: Any) -> GymEnv:
    """Wrap an environment, or a vector of one, as a `GymEnv`."""
    if isinstance(env, GymEnv):
        return env
    if hasattr(env, "num_envs"):
        if env.num_envs != 1:
            raise UsageError(f"make_env(n_envs=1) returned a vector of {env.num_envs} environments instead of one")
        if isinstance(env, gymnasium.vector.AsyncVectorEnv):
            raise UsageError(
                "make_env(use_async_envs=False) returned an AsyncVectorEnv; return a SyncVectorEnv or a single "
                "environment, since Yardarm has its own processes"
            )
        return VectorOfOne(env)
    if not hasattr(env, "step"):
        raise UsageError(f"{type(env).__name__} is not a Gymnasium environment")
    return GymEnv(env)


def describe(env: GymEnv, episode_length: int | None, success_key: str | None) -> dict[str, Any]:
    """Everything that a task's specification needs, as plain values.

    If success is read from `success_key`, an episode is played, and an environment that does not report it is
    rejected.
    """
    max_steps = episode_length or _step_limit(env)
    if not max_steps:
        raise UsageError("the environment has no step limit; give one with --env.episode_length=…")
    inputs = {name: (feature.shape, feature.dtype) for name, feature in _features(env.observation_space).items()}
    action = describe_action(env.action_space)
    first, again = env.reset(seed=0), env.reset(seed=0)
    picture = _picture(env)
    if success_key is not None:
        _expect_success(env, success_key, max_steps)
    return {
        "inputs": inputs,
        "action": action,
        "repeats": all(np.array_equal(first[name], again[name], equal_nan=True) for name in inputs),
        "max_steps": int(max_steps),
        "fps": int(_metadata(env).get("render_fps") or DEFAULT_FPS),
        "picture": None if picture is None else picture.shape[:2],
        "mujoco": "mujoco" in sys.modules,
        "task": _text(env.attribute("task")),
        "instruction": _text(env.attribute("task_description")),
    }


def no_success_entry(success_key: str, info: Mapping[str, Any]) -> str:
    """The error message for an environment that does not report success."""
    reported = ", ".join(f"'{key}'" for key in info if not key.startswith("_")) or "nothing"
    return (
        f"the environment's info has no '{success_key}' (it has {reported}); name another entry with "
        "--env.success_key=…, or the reward that means success with --env.success_reward=…"
    )


def is_yes(success_key: str, value: Any) -> bool:
    """Whether an environment reports success; raise if the value is neither yes nor no."""
    said = np.asarray(value)
    if said.size != 1 or said.dtype.kind not in NUMBERS or said.item() not in (0, 1):
        raise UsageError(f"the environment reports '{success_key}' as {value!r}, which is neither yes nor no")
    return bool(said.item())


def _expect_success(env: GymEnv, success_key: str, steps: int) -> None:
    """Play neutral actions until the environment reports success or failure, which some do only at the very end.

    A slow environment gets the benefit of the doubt after a while: its episodes will tell.
    """
    action = neutral_action(env.action_space)
    give_up = time.monotonic() + LONGEST_TRIAL_S
    for step in range(steps):
        *_, terminated, truncated, info = env.step(action)
        if success_key in info:
            is_yes(success_key, info[success_key])
            return
        if terminated or truncated or step == steps - 1:
            raise UsageError(no_success_entry(success_key, info))
        if time.monotonic() > give_up:
            return


def _features(space: gymnasium.Space) -> dict[str, Feature]:
    """The inputs in an observation space, without those of no fixed size, such as text."""
    flat = policy_names(space, is_image=_is_image(space))
    fixed = {name: part for name, part in flat.items() if part.shape is not None and part.dtype is not None}
    numbers = {name: part for name, part in fixed.items() if np.dtype(part.dtype).kind in NUMBERS}
    return {name: Feature(tuple(part.shape), np.dtype(part.dtype).name) for name, part in numbers.items()}


def _is_image(space: gymnasium.Space) -> bool:
    return space.dtype == np.uint8 and space.shape is not None and len(space.shape) == 3


def _info_of_one(info: Mapping[str, Any]) -> dict[str, Any]:
    """A vector's info about its one environment; if that was already reset, the info from the episode's end."""
    own = {key: _first_of(value) for key, value in info.items() if not key.startswith("_")}
    final = info.get("final_info")
    return {**own, **_info_of_one(final)} if isinstance(final, Mapping) else own


def _first_of(value: Any) -> Any:
    return value[0] if isinstance(value, np.ndarray | list | tuple) and len(value) == 1 else value


def _step_limit(env: GymEnv) -> int | None:
    spec = getattr(env.env, "spec", None)
    return env.attribute("_max_episode_steps") or getattr(spec, "max_episode_steps", None)


def _metadata(env: GymEnv) -> Mapping[str, Any]:
    return getattr(env.env, "metadata", None) or {}


def _picture(env: GymEnv) -> np.ndarray | None:
    """The environment's picture, or None; an environment that cannot draw can still be evaluated."""
    try:
        picture = env.render()
    except Exception:
        return None
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        return None
    return picture


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
