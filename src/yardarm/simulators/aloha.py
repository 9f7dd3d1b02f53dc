"""ALOHA's simulator: gym_aloha's environment, rendered only when needed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from yardarm.envs import Observation, Step, rendering_off
from yardarm.simulators.mujoco_camera import MujocoCamera
from yardarm.simulators.mujoco_state import integrated_state
from yardarm.tasks import EpisodeSpec, TaskSpec

with rendering_off():
    # dm_control looks for a display when it is imported, and complains if there is none. Here, MuJoCo itself renders.
    from gym_aloha.env import AlohaEnv

__all__ = ["AlohaSimulator"]

# gym_aloha's internal names for the tasks.
TASKS = {"AlohaInsertion-v0": "insertion", "AlohaTransferCube-v0": "transfer_cube"}


class AlohaSimulator:
    """One of the two tasks. The reward is the stage reached; the fourth is success, and ends the episode."""

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.env.options
        self._env = _build(TASKS[task.name])
        physics = self._env._env.physics
        self._model, self._data = physics.model.ptr, physics.data.ptr
        self._camera = MujocoCamera(self._model, self._data)
        self._joints = np.zeros(14)

    def reset(self, episode: EpisodeSpec) -> None:
        """Draw the objects' positions from the episode's seed."""
        self._joints, _ = self._env.reset(seed=episode.seed)

    def step(self, action: np.ndarray) -> Step:
        """Play one action; success ends the episode."""
        self._joints, reward, terminated, truncated, info = self._env.step(action)
        return Step(float(reward), bool(info["is_success"]), bool(terminated), bool(truncated))

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Read inputs; only ``observation.images.top`` is expensive."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render from any of the model's cameras."""
        return self._camera.render(camera, height, width)

    def state(self) -> np.ndarray:
        """Everything that MuJoCo integrates. The environment has no other state once the objects are placed."""
        return integrated_state(self._model, self._data)

    def close(self) -> None:
        """Free the rendering context."""
        self._camera.close()

    def _input(self, name: str) -> np.ndarray:
        if name == "observation.images.top":
            return self.frame("top", self._options["height"], self._options["width"])
        return self._joints.copy()


def _build(task_name: str):  # type: ignore[no-untyped-def]  # gym_aloha is not typed
    """Build the task's environment without the three pictures of 480 × 640 that it would render at every step."""
    env = AlohaEnv(task_name)
    inner = env._env.task
    inner.get_observation = inner.get_qpos
    env._format_raw_obs = lambda joints: joints
    return env
