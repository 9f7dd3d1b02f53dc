"""The scene of a twin as a world: its arm, its motors and its physics, without its port."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from yardarm.envs import Observation, Step
from yardarm.robots.twins.world import ScriptedPlan, TwinWorld
from yardarm.simulators.mujoco_camera import MujocoCamera
from yardarm.simulators.mujoco_state import integrated_state
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["So101TwinExpert", "So101TwinSimulator"]

IMAGES = "observation.images."


class So101TwinSimulator:
    """One scene. Success ends an episode; the reward is 1 then, and 0 before."""

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.env.options
        self._world = TwinWorld(task.name, task.fps)
        self._camera: MujocoCamera | None = None

    def reset(self, episode: EpisodeSpec) -> None:
        """Put things where the episode's seed says."""
        self._world.reset(episode.seed)

    def step(self, action: np.ndarray) -> Step:
        """Send the joints to their goals, and wait for a thirtieth of a second."""
        self._world.act(action.tolist())
        success = self._world.success
        return Step(float(success), success, terminated=success, truncated=False)

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Read inputs; only images are expensive."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Draw what a camera sees."""
        if self._camera is None:
            self._pictured = self._world.picture_model()
            self._drawn = mujoco.MjData(self._pictured)
            self._camera = MujocoCamera(self._pictured, self._drawn)
        self._drawn.qpos[:] = self._world.qpos
        mujoco.mj_kinematics(self._pictured, self._drawn)
        mujoco.mj_comPos(self._pictured, self._drawn)
        mujoco.mj_camlight(self._pictured, self._drawn)
        return self._camera.render(camera, height, width)

    def state(self) -> np.ndarray:
        """Everything that MuJoCo integrates, and what goes on in the motors."""
        body = self._world.arm.body
        return np.concatenate([integrated_state(body.model, body.data), self._world.inner_state()])

    def close(self) -> None:
        """Free the rendering context."""
        if self._camera is not None:
            self._camera.close()

    def _input(self, name: str) -> np.ndarray:
        if name.startswith(IMAGES):
            return self.frame(name.removeprefix(IMAGES), self._options["height"], self._options["width"])
        values = self._world.positions() if name == "observation.state" else self._world.qpos
        return np.array(values, dtype=np.float64)


class So101TwinExpert:
    """Plans the whole episode at its beginning."""

    def __init__(self, episode: EpisodeSpec) -> None:
        self._plan = ScriptedPlan(episode.seed, episode.task.fps)

    def actions(self, state: np.ndarray) -> np.ndarray:
        """All of them, from the scene as it is now."""
        return np.array(self._plan.actions(state.tolist()))
