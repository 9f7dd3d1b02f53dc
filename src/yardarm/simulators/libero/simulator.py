"""LIBERO with LeRobot's semantics: the same as a new LeRobot environment with the same seed and actions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from yardarm.envs import Observation, Step
from yardarm.simulators.libero.arm import Arm
from yardarm.simulators.libero.sensors import Sensors
from yardarm.simulators.libero.world import World, stored_states
from yardarm.simulators.mujoco_state import integrated_state
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["LiberoSimulator"]

# LeRobot lets objects settle before an episode begins: no motion, and the gripper opens.
SETTLING_STEPS = 10
SETTLING_ACTION = np.array([0, 0, 0, 0, 0, 0, -1])
SENSED = {
    "observation.state.eef_pos": "hand_position",
    "observation.state.eef_quat": "hand_quaternion",
    "observation.state.gripper_qpos": "finger_positions",
    "observation.state.gripper_qvel": "finger_velocities",
    "observation.state.joint_pos": "joint_positions",
    "observation.state.joint_vel": "joint_velocities",
}


class LiberoSimulator:
    """One LIBERO task. Success ends an episode."""

    def __init__(self, task: TaskSpec) -> None:
        self._options = options = task.env.options
        self._world = World(options["suite"], task.name, options["fps"])
        self._sensors = Sensors(self._world, options["fps"])
        self._stored_states = stored_states(options["suite"], task.name) if options["init_states"] else None
        self._physics_steps = int(1.0 / options["fps"] / self._world.model.opt.timestep)

    def reset(self, episode: EpisodeSpec) -> None:
        """Draw the scene from the seed, move its objects to a stored state, and let them settle."""
        self._world.draw(episode.seed)
        self._sensors.restart()
        if self._stored_states is not None:
            self._world.put(self._stored_states[episode.index % len(self._stored_states)])
            self._sensors.sample_now()
        self._arm = Arm(self._world.robot, self._world.model, self._world.data)
        for _ in range(SETTLING_STEPS):
            self._play(SETTLING_ACTION)
        self._arm.controller.use_delta = self._options["control_mode"] == "relative"

    def step(self, action: np.ndarray) -> Step:
        """Play one action; success ends the episode."""
        success = self._play(action)
        return Step(float(success), success, terminated=success, truncated=False)

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Read inputs; only images are expensive."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render from any of the scene's cameras, as a policy sees it."""
        return self._sensors.picture(camera, height, width)

    def state(self) -> np.ndarray:
        """Everything that MuJoCo integrates, the controller's memory, and the fixtures' poses."""
        integrated = integrated_state(self._world.model, self._world.data)
        return np.concatenate([integrated, self._arm.state(), self._world.fixtures()])

    def close(self) -> None:
        """Free the model and the rendering context."""
        self._sensors.close()
        self._world.close()

    def _play(self, action: np.ndarray) -> bool:
        for step in range(self._physics_steps):
            self._sensors.before_step()
            self._arm.step(action, is_new=step == 0)
            self._sensors.after_step()
        success = self._world.is_solved()
        self._world.update_sites()
        return success

    def _input(self, name: str) -> np.ndarray:
        if camera := self._options["images"].get(name):
            return self._sensors.picture(camera, self._options["height"], self._options["width"])
        sample = self._sensors.sample
        if name == "observation.state":
            return np.concatenate([sample.hand_position, axis_angle(sample.hand_quaternion), sample.finger_positions])
        if name == "observation.state.eef_mat":
            return self._arm.controller.ee_ori_mat.copy()  # LeRobot does not read this one from a sensor
        return getattr(sample, SENSED[name]).copy()


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """The axis times the angle, in LeRobot's precision: float32 changes small angles considerably."""
    *axis, cosine = quaternion.astype(np.float32)
    cosine = np.clip(cosine, np.float32(-1), np.float32(1))
    sine = np.sqrt(np.maximum(np.float32(1) - cosine * cosine, np.float32(0)))
    if sine <= 1e-10:
        return np.zeros(3)
    return (np.array(axis) / sine * (np.float32(2) * np.arccos(cosine))).astype(np.float64)
