"""What a policy sees. It is slightly in the past: robosuite samples its sensors while an action is played."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from yardarm.simulators.libero.world import World
from yardarm.simulators.mujoco_camera import MujocoCamera

__all__ = ["Sample", "SampleClock", "Sensors"]

# Geoms that exist only for collisions.
UNSEEN_GEOMS = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The world as robosuite's sensors read it after a physics step: joints have moved, poses have not yet."""

    posed_joints: np.ndarray
    """The joint positions that the poses, and so the pictures, belong to."""
    site_rgba: np.ndarray
    hand_position: np.ndarray
    hand_quaternion: np.ndarray
    """x, y, z, w."""
    finger_positions: np.ndarray
    finger_velocities: np.ndarray
    joint_positions: np.ndarray
    joint_velocities: np.ndarray


class SampleClock:
    """Decides when to sample: once in each period, but periods do not start with actions.

    The arithmetic is robosuite's, including its rounding. A forced sample, as in a reset, counts as a tick. So samples
    are taken one or two ticks before the end of an action, and drift if an action is not a whole period.
    """

    def __init__(self, tick_s: float, rate: int) -> None:
        self._tick_s = tick_s
        self._period_s = 1.0 / rate
        self._elapsed_s = 0.0
        self._has_sampled = False

    def restart(self) -> None:
        """Count from zero."""
        self._elapsed_s = 0.0

    def tick(self, force: bool = False) -> bool:
        """Count a physics step; return whether to sample now."""
        self._elapsed_s += self._tick_s
        is_due = force or (not self._has_sampled and self._period_s >= self._elapsed_s)
        self._has_sampled = self._has_sampled or is_due
        if self._elapsed_s >= self._period_s:
            is_due = is_due or not self._has_sampled
            self._elapsed_s %= self._period_s
            self._has_sampled = False
        return is_due


class Sensors:
    """Takes samples when robosuite does, and renders the last one on demand."""

    sample: Sample

    def __init__(self, world: World, control_rate: int) -> None:
        self._model, self._data, self._robot = world.model, world.data, world.robot
        self._hand = world.model.body(world.robot.robot_model.eef_name).id
        self._clock = SampleClock(world.model.opt.timestep, control_rate)
        self._posed_joints = np.empty(world.model.nq)
        self._then = mujoco.MjData(world.model)
        self._camera = MujocoCamera(world.model, self._then, hidden_groups=(UNSEEN_GEOMS,))

    def restart(self) -> None:
        """Count time from zero, and take a first sample."""
        self._clock.restart()
        self.sample_now()

    def sample_now(self) -> None:
        """Take a sample with up-to-date poses."""
        self.before_step()
        self.after_step(force=True)

    def before_step(self) -> None:
        """Remember the joint positions that the poses will belong to after this physics step."""
        self._posed_joints[:] = self._data.qpos

    def after_step(self, force: bool = False) -> None:
        """Take a sample if one is due."""
        if self._clock.tick(force):
            self.sample = self._take()

    def picture(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render the last sample as LeRobot shows it: the right way up, but mirrored."""
        self._then.qpos[:] = self.sample.posed_joints
        mujoco.mj_kinematics(self._model, self._then)
        mujoco.mj_comPos(self._model, self._then)
        mujoco.mj_camlight(self._model, self._then)
        present = self._model.site_rgba.copy()  # a stove may have been turned on since, and glow
        self._model.site_rgba[:] = self.sample.site_rgba
        image = self._camera.render(camera, height, width)
        self._model.site_rgba[:] = present
        return image[:, ::-1]

    def close(self) -> None:
        """Free the rendering context."""
        self._camera.close()

    def _take(self) -> Sample:
        data, robot = self._data, self._robot
        return Sample(
            posed_joints=self._posed_joints.copy(),
            site_rgba=self._model.site_rgba.copy(),
            hand_position=data.site_xpos[robot.eef_site_id].copy(),
            hand_quaternion=data.xquat[self._hand][[1, 2, 3, 0]],
            finger_positions=data.qpos[robot._ref_gripper_joint_pos_indexes],
            finger_velocities=data.qvel[robot._ref_gripper_joint_vel_indexes],
            joint_positions=data.qpos[robot._ref_joint_pos_indexes],
            joint_velocities=data.qvel[robot._ref_joint_vel_indexes],
        )
