"""The simulator for any registered Gymnasium environment; it keeps the last observation."""

from __future__ import annotations

import copy
import hashlib
import importlib
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from yardarm.envs import Observation, Step
from yardarm.errors import EnvironmentFault, UsageError, nearest
from yardarm.simulators.gym_actions import playable_action
from yardarm.simulators.gym_envs import GymEnv, describe, is_yes, no_success_entry, wrapped
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["GymSimulator", "describe_registered"]

RENDERED = "observation.image"


class GymSimulator:
    """One environment. Its `step` always returns an observation; pictures are drawn only when needed."""

    def __init__(self, task: TaskSpec) -> None:
        gymnasium.logger.min_level = gymnasium.logger.ERROR  # its warnings are for the environment's author
        self._task = task
        self._options = task.env.options
        self._env: GymEnv | None = None
        self._generators = GlobalGenerators()
        self._seen: dict[str, np.ndarray] = {}

    def reset(self, episode: EpisodeSpec) -> None:
        """Start from the seed, in a new environment unless the user has said that resets are clean."""
        with self._generators:
            if self._env is None or self._options["rebuild"]:
                self.close()
                self._generators.seed(episode.seed)
                self._env = self._build()
            self._generators.seed(episode.seed)
            self._seen = self._env.reset(episode.seed)
        self._steps = 0

    def step(self, action: np.ndarray) -> Step:
        """Play one action, and keep its observation."""
        env = self._built()
        playable = playable_action(env.action_space, action)
        with self._generators:
            self._seen, reward, terminated, truncated, info = env.step(playable)
        self._steps += 1
        over = terminated or truncated or self._steps >= self._task.max_steps
        solved = self._is_solved(reward, info, over)
        if self._options["success_ends_episode"]:
            return Step(reward, solved, terminated or solved, truncated)
        return Step(reward, solved and over, terminated, truncated)

    def observe(self, wanted: Iterable[str]) -> Observation:
        """The last step's observation; a picture is drawn only if the observation has none of that name."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """The environment's own picture, in its own size."""
        return self._draw()

    def state(self) -> np.ndarray:
        """MuJoCo's state, if there is one, and the last observation, with images as hashes."""
        parts = [_mujoco_state(self._built()), *(_numbers(value) for _, value in sorted(self._seen.items()))]
        return np.concatenate(parts)

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _build(self) -> GymEnv:
        return make_registered(self._options)

    def _built(self) -> GymEnv:
        assert self._env is not None, "no episode was started"
        return self._env

    def _input(self, name: str) -> np.ndarray:
        feature = self._task.env.features[name]
        value = self._draw() if name == RENDERED and name not in self._seen else self._seen[name]
        if not np.can_cast(value.dtype, feature.dtype, "same_kind"):
            raise EnvironmentFault(
                f"the environment returns '{name}' as {value.dtype}, but its space declares {feature.dtype}"
            )
        return np.asarray(value, feature.dtype)

    def _draw(self) -> np.ndarray:
        """Draw without side effects: some environments update their physics before they draw."""
        env = self._built()
        physics = _mujoco_physics(env)
        untouched = copy.copy(physics[2]) if physics else None
        picture = env.render()
        if physics and untouched:
            _restore(physics[2], untouched)
        assert picture is not None, "an environment that does not draw has no camera"
        return picture

    def _is_solved(self, reward: float, info: Mapping[str, Any], over: bool) -> bool:
        if self._options["success_reward"] is not None:
            return reward >= self._options["success_reward"]
        key = self._options["success_key"]
        if over and key not in info:
            raise EnvironmentFault(no_success_entry(key, info))
        return is_yes(key, info.get(key, False))


class GlobalGenerators:
    """Python's and numpy's global generators, for environments that use them.

    Inside the ``with`` block they have the environment's state; outside, in the user's process, the user's.
    """

    def __init__(self) -> None:
        self._own: tuple[Any, Any] | None = None

    def seed(self, seed: int) -> None:
        """Seed both for an episode."""
        random.seed(seed)
        np.random.seed(seed % 2**32)

    def __enter__(self) -> None:
        self._others = (random.getstate(), np.random.get_state())
        if self._own is not None:
            random.setstate(self._own[0])
            np.random.set_state(self._own[1])

    def __exit__(self, *error: object) -> None:
        self._own = (random.getstate(), np.random.get_state())
        random.setstate(self._others[0])
        np.random.set_state(self._others[1])


def make_registered(options: Mapping[str, Any]) -> GymEnv:
    """Create an environment by its id."""
    limit = {"max_episode_steps": options["episode_length"]} if options["episode_length"] else {}
    drawing = {"render_mode": options["render_mode"]} if options["render_mode"] else {}
    _import_package(options["id"], options["package_name"])
    env = gymnasium.make(options["id"], disable_env_checker=True, **limit, **drawing, **options["kwargs"])
    return wrapped(env)


def describe_registered(ids: Sequence[str], options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe environments by their ids, each with its render mode, if it can draw."""
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    return [_describe_one({**options, "id": name}) for name in ids]


def _describe_one(options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        env, render_mode = make_registered({**options, "render_mode": "rgb_array"}), "rgb_array"
    except gymnasium.error.Error as error:
        raise UsageError(f"--env.task={options['id']}: {' '.join(str(error).split())}") from error
    except (TypeError, AssertionError, ValueError):  # it cannot draw; environments raise different errors
        env, render_mode = make_registered({**options, "render_mode": ""}), ""
    try:
        return {**describe(env, options["episode_length"], options["success_key"]), "render_mode": render_mode}
    finally:
        env.close()


def _import_package(name: str, package: str) -> None:
    """Import the package that registers an id: the given one, or the one with the id's namespace as its name."""
    known = gymnasium.registry
    if name in known and not package:
        return
    guess = package or (name.partition("/")[0] if "/" in name else "")
    if guess:
        try:
            importlib.import_module(guess)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"--env.task={name} needs the package '{guess}', which cannot be imported ({error}); install it, or "
                "give the package that registers it with --env.package_name=…"
            ) from error
    if name not in known and ":" not in name:
        raise UsageError(
            f"no environment '{name}' is registered{nearest(name, known)} "
            "if a package registers it when it is imported, give that package with --env.package_name=…"
        )


def _mujoco_physics(env: GymEnv) -> tuple[Any, Any, Any] | None:
    """MuJoCo, and the environment's model and data, if it exposes them."""
    mujoco = sys.modules.get("mujoco")
    model, data = env.attribute("model"), env.attribute("data")
    if mujoco is None or not isinstance(model, mujoco.MjModel) or not isinstance(data, mujoco.MjData):
        return None
    return mujoco, model, data


def _restore(data: Any, untouched: Any) -> None:
    """Restore everything that was computed before; the next step computes contacts and constraints again."""
    for name in dir(data):
        if not name.startswith(("_", "efc_", "contact")):
            value, before = getattr(data, name), getattr(untouched, name)
            if isinstance(value, np.ndarray) and value.shape == before.shape:
                value[...] = before
    data.time = untouched.time


def _mujoco_state(env: GymEnv) -> np.ndarray:
    physics = _mujoco_physics(env)
    if physics is None:
        return np.empty(0)
    # Here, not at the top: not every environment needs MuJoCo.
    from yardarm.simulators.mujoco_state import integrated_state

    _, model, data = physics
    return integrated_state(model, data)


def _numbers(value: np.ndarray) -> np.ndarray:
    if value.dtype != np.uint8:
        return np.asarray(value, np.float64).ravel()
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
    return np.frombuffer(digest, np.uint32).astype(np.float64)
