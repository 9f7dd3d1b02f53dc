"""The robot's controller: robosuite's own, without most of its repeated computations."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

__all__ = ["Arm"]

OPENING = np.array([-1.0, 1.0])


class Arm:
    """Turns actions into torques, and steps the physics with them.

    robosuite runs MuJoCo's whole forward dynamics three times in each physics step: at its start, when the controller
    reads the robot, and to move. Here, only what depends on the torques, or on the number of solver runs, is computed
    again. Every bit of the result is the same.
    """

    def __init__(self, robot: Any, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model, self._data = model, data
        self._gripper = robot.gripper
        # Every reset creates another one.
        self.controller = robot.controller
        self.controller.update = self._update
        self._site = model.site(self.controller.eef_name).id
        self._positions = np.array(self.controller.qpos_index)
        self._velocities = np.array(self.controller.qvel_index)
        self._motors = np.array(robot._ref_joint_actuator_indexes)
        self._limits = robot.torque_limits
        self._fingers = np.array(robot._ref_joint_gripper_actuator_indexes)
        low, high = model.actuator_ctrlrange[self._fingers].T
        self._finger_middle, self._finger_reach = 0.5 * (high + low), 0.5 * (high - low)
        self._jacobian = np.zeros((6, model.nv))
        self._mass = np.zeros((model.nv, model.nv))

    def step(self, action: np.ndarray, is_new: bool) -> None:
        """Step the physics once; a new action sets a new goal."""
        model, data = self._model, self._data
        mujoco.mj_step1(model, data)
        mujoco.mj_fwdActuation(model, data)
        mujoco.mj_fwdAcceleration(model, data)
        mujoco.mj_fwdConstraint(model, data)
        if is_new:
            self.controller.set_goal(action[:6])
        low, high = self._limits
        data.ctrl[self._motors] = np.maximum(np.minimum(self.controller.run_controller(), high), low)
        data.ctrl[self._fingers] = self._finger_middle + self._finger_reach * self._grip(action[6:])
        mujoco.mj_step2(model, data)

    def state(self) -> np.ndarray:
        """What the future depends on in addition to MuJoCo's state."""
        controller = self.controller
        return np.concatenate([self._gripper.current_action, controller.goal_pos, controller.goal_ori.ravel()])

    def _grip(self, action: np.ndarray) -> np.ndarray:
        gripper = self._gripper
        moved = gripper.current_action + OPENING * gripper.speed * np.sign(action)
        gripper.current_action = np.maximum(np.minimum(moved, 1.0), -1.0)
        return gripper.current_action

    def _update(self, force: bool = False) -> None:
        """Read the robot's pose and dynamics into the controller; replaces the controller's own method."""
        controller, data = self.controller, self._data
        if not (controller.new_update or force):
            return
        # The original method runs the whole forward dynamics here, which changes nothing but the solver's solution.
        mujoco.mj_fwdConstraint(self._model, data)
        controller.ee_pos = data.site_xpos[self._site].copy()
        controller.ee_ori_mat = data.site_xmat[self._site].reshape(3, 3).copy()
        qpos, qvel, position, rotation = data.qpos, data.qvel, self._jacobian[:3], self._jacobian[3:]
        mujoco.mj_jacSite(self._model, data, position, rotation, self._site)
        controller.ee_pos_vel = np.dot(position, qvel)
        controller.ee_ori_vel = np.dot(rotation, qvel)
        controller.joint_pos = qpos[self._positions]
        controller.joint_vel = qvel[self._velocities]
        # NumPy returns selected columns in column order, and the copies must have it too: the controller's functions
        # were compiled for it.
        controller.J_full = self._jacobian[:, self._velocities]
        controller.J_pos = controller.J_full[:3].copy(order="F")
        controller.J_ori = controller.J_full[3:].copy(order="F")
        mujoco.mj_fullM(self._model, self._mass, data.qM)
        controller.mass_matrix = self._mass[self._velocities, :][:, self._velocities]
        controller.new_update = False
