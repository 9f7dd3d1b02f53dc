"""How an arm picks the cube and drops it into the box: a path of its joints, by inverse kinematics on its model."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yardarm.robots.twins.scenes.cube_and_box import BOX_AT, GRASP, PAN_X, CubeAndBox

__all__ = ["JointPath", "Picking", "picking_model"]

HAND = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
JAW = "gripper"
UP = np.array([0.0, 0.0, 1.0])
# The jaw's angles, in radians: nearly touching, and wide enough for a cube that is turned a little.
CLOSED, OPEN, DROPPED = -0.05, 0.75, 0.6
# How high the hand is, in metres: above the cube, just before it, while it carries, and when it lets go.
ABOVE, NEAR, CARRIED, LET_GO = 0.055, 0.025, 0.085, 0.055
# Where the search for joints begins, in radians: fingers down, in front of the arm.
READY = {"shoulder_lift": -0.2, "elbow_flex": 0.3, "wrist_flex": 1.4, "wrist_roll": 0.0}
# A person's hand is never twice the same.
NOISE_M, NOISE_S = 0.003, 0.12
GOOD_ENOUGH_M = 0.0001
# How many metres a radian counts: high up, the wrist cannot bend far enough, and the hand tilts.
UPRIGHT_M = 0.02


@dataclass(frozen=True, slots=True)
class JointPath:
    """Where joints are over time, in radians; between two times they start and stop gently."""

    times: Sequence[float]
    points: Sequence[Mapping[str, float]]

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.times[-1]

    def __call__(self, seconds: float) -> dict[str, float]:
        """The joints at a time; after the end, the last ones."""
        after = bisect.bisect_right(self.times, max(seconds, 0.0))
        if after == len(self.times):
            return dict(self.points[-1])
        early, late = self.times[after - 1], self.times[after]
        share = (seconds - early) / (late - early)
        share = share**3 * (10 - 15 * share + 6 * share**2)
        before, then = self.points[after - 1], self.points[after]
        return {name: before[name] + share * (then[name] - before[name]) for name in then}


def picking_model() -> Any:
    """The arm, and what is on its table."""
    from yardarm.robots.so_arm import SO_MOTORS, SoFollower
    from yardarm.robots.twins.arm_model import model_for

    return model_for(SoFollower.name, SO_MOTORS, published=True, scene=CubeAndBox.name)


class Picking:
    """Plans on MuJoCo's model of the arm and its scene."""

    def __init__(self, model: Any, home: Mapping[str, float]) -> None:
        import mujoco

        self._mujoco, self._model, self._data = mujoco, model, mujoco.MjData(model)
        self._at = {name: int(model.joint(name).qposadr[0]) for name in (*HAND, JAW)}
        self._moving = [int(model.joint(name).dofadr[0]) for name in HAND]
        self._ends = np.array([model.jnt_range[model.joint(name).id] for name in HAND])
        self._site = model.site(GRASP).id
        self._cube = int(model.joint("cube").qposadr[0])
        self.home = {name: home.get(name, 0.0) for name in (*HAND, JAW)}

    def plan(self, qpos: Sequence[float], seed: int) -> JointPath:
        """From wherever the arm is, to the cube, to the box, and a little up; a seed makes it a person's."""
        draw = random.Random(seed)
        cube = np.array(qpos[self._cube : self._cube + 3])
        w, _, _, z = qpos[self._cube + 3 : self._cube + 7]
        turned = 2 * math.atan2(z, w)
        near = np.array([draw.gauss(0, NOISE_M) for _ in range(3)])
        aside = np.array([draw.uniform(-0.01, 0.01), draw.uniform(-0.01, 0.01), 0.0])
        over_box = np.array([*BOX_AT, LET_GO]) + aside
        grasp = self._solve(cube + 0.002 * UP, turned)
        above = self._solve(cube + ABOVE * UP + near, turned)
        before = self._solve(cube + NEAR * UP, turned)
        lifted = self._solve(np.array([*cube[:2], CARRIED]) + near, turned)
        carried = self._solve(over_box + (CARRIED - LET_GO) * UP, None)
        dropped = self._solve(over_box, None)
        began = {name: float(qpos[at]) for name, at in self._at.items()}
        steps = [
            (1.3, above, OPEN),
            (0.4, before, OPEN),
            (0.4, grasp, OPEN),
            (0.5, grasp, CLOSED),
            (0.7, lifted, CLOSED),
            (1.3, carried, CLOSED),
            (0.5, dropped, CLOSED),
            (0.4, dropped, DROPPED),
            (0.6, carried, DROPPED),
        ]
        times, points = [0.0], [began]
        for seconds, pose, jaw in steps:
            times.append(times[-1] + seconds * draw.uniform(1 - NOISE_S, 1 + NOISE_S))
            points.append({**pose, JAW: jaw})
        return JointPath(times, points)

    def way_home(self, qpos: Sequence[float]) -> JointPath:
        """From wherever the arm is to where it begins."""
        began = {name: float(qpos[at]) for name, at in self._at.items()}
        return JointPath([0.0, 1.5], [began, self.home])

    def _solve(self, place: Any, turned: float | None) -> dict[str, float]:
        """Joints whose fingers point down at a place, and grip along the sides of a cube that is turned so."""
        for name, angle in {**READY, "shoulder_pan": -math.atan2(place[1], place[0] - PAN_X)}.items():
            self._data.qpos[self._at[name]] = angle
        self._descend(place, None)
        if turned is not None:
            self._mujoco.mj_kinematics(self._model, self._data)
            across = self._data.site_xmat[self._site].reshape(3, 3)[:, 0]
            now = math.atan2(across[1], across[0])
            quarter = math.pi / 2
            self._descend(place, turned + quarter * round((now - turned) / quarter))
        return {name: float(self._data.qpos[self._at[name]]) for name in HAND}

    def _descend(self, place: Any, yaw: float | None) -> None:
        """Damped least squares, until it is near enough or the arm gets no nearer."""
        data, columns = self._data, self._moving
        linear, angular = np.zeros((3, self._model.nv)), np.zeros((3, self._model.nv))
        for _ in range(200):
            self._mujoco.mj_kinematics(self._model, data)
            self._mujoco.mj_comPos(self._model, data)
            self._mujoco.mj_jacSite(self._model, data, linear, angular, self._site)
            axes = data.site_xmat[self._site].reshape(3, 3)
            # The hand's z points up where its fingers point down.
            turn = np.cross(axes[:, 2], UP)
            if yaw is not None:
                turn = turn + _about_z(axes[:, 0], yaw)
            rows = slice(0, 2) if yaw is None else slice(0, 3)
            error = np.concatenate([place - data.site_xpos[self._site], UPRIGHT_M * turn[rows]])
            if np.linalg.norm(error) < GOOD_ENOUGH_M:
                return
            jacobian = np.vstack([linear[:, columns], UPRIGHT_M * angular[rows][:, columns]])
            step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-7 * np.eye(len(error)), error)
            step *= min(1.0, 0.3 / max(np.abs(step).max(), 1e-9))
            joints = np.array([data.qpos[self._at[name]] for name in HAND]) + step
            for name, angle in zip(HAND, np.clip(joints, self._ends[:, 0], self._ends[:, 1]), strict=True):
                data.qpos[self._at[name]] = angle


def _about_z(axis: Any, yaw: float) -> Any:
    """The turn about the vertical that brings an axis to a direction."""
    wrong = math.remainder(yaw - math.atan2(axis[1], axis[0]), math.tau)
    return np.array([0.0, 0.0, wrong])
