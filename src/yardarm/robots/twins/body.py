"""An arm that moves: MuJoCo steps it, motors pull it, and a hand may hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from yardarm.robots.twins.arm_model import STEP_S, ArmModel, load_mujoco
from yardarm.robots.twins.drive import Drive
from yardarm.robots.twins.mounting import Travel
from yardarm.robots.twins.strength import strength_of

__all__ = ["ArmBody"]

# A hand is a stiff spring to where it wants the joint, stronger than the motor, and it brakes.
HAND_STRENGTH = 3.0
HAND_STIFFNESS = 60.0


class ArmBody:
    """The arm's joints, in radians."""

    def __init__(self, model: ArmModel) -> None:
        mujoco = load_mujoco()
        self._mj_step, self.motors = mujoco.mj_step, model.motors
        self.model = model.spec().compile()
        self.data = mujoco.MjData(self.model)
        self.names = list(model.motors)
        joints = [self.model.joint(name) for name in self.names]
        self._at = [int(joint.qposadr[0]) for joint in joints]
        self._moving_at = [int(joint.dofadr[0]) for joint in joints]
        self._limited = [bool(self.model.jnt_limited[joint.id]) for joint in joints]
        self._joint_ids = [joint.id for joint in joints]
        self._drives = [self.model.actuator(f"drive_{name}").id for name in self.names]
        self._hands = [self.model.actuator(f"hand_{name}").id for name in self.names]
        self._held: dict[str, float] = {}
        for name in self.names:
            self.release(name)

    @property
    def travels(self) -> dict[str, Travel]:
        """How far the joints turn; all the way round if nothing stops them."""
        ranges = self.model.jnt_range
        return {
            name: Travel(*(float(end) for end in ranges[id])) if limited else Travel(-math.pi, math.pi)
            for name, id, limited in zip(self.names, self._joint_ids, self._limited, strict=True)
        }

    def limit(self, travels: Mapping[str, Travel]) -> None:
        """Put the joints' stops elsewhere; joints without stops stay so."""
        for name, id, limited in zip(self.names, self._joint_ids, self._limited, strict=True):
            if limited:
                self.model.jnt_range[id] = (travels[name].low, travels[name].high)

    def place(self, angles: Mapping[str, float]) -> None:
        """Put joints somewhere at once, at rest."""
        for name, angle in angles.items():
            self.data.qpos[self._at[self.names.index(name)]] = angle
        self.data.qvel[:] = 0

    def angle(self, name: str) -> float:
        """Where a joint is."""
        return float(self.data.qpos[self._at[self.names.index(name)]])

    @property
    def angles(self) -> dict[str, float]:
        """Where all joints are."""
        return {name: float(self.data.qpos[at]) for name, at in zip(self.names, self._at, strict=True)}

    def hold(self, name: str, angle: float) -> None:
        """Have a hand pull a joint there, and hold it."""
        number = self._hands[self.names.index(name)]
        strength = strength_of(self.motors[name])
        stiffness = HAND_STIFFNESS * strength.torque_nm
        # The brake makes it arrive without a swing; the motor's own loss with speed helps.
        brake = 2 * math.sqrt(stiffness * (strength.armature_kg_m2 + 0.005))
        self.data.ctrl[number] = stiffness * angle
        self.model.actuator_biasprm[number, 1:3] = (-stiffness, -brake)
        self._held[name] = angle

    def is_held(self, name: str) -> bool:
        """Whether a hand has a joint."""
        return name in self._held

    def release(self, name: str) -> None:
        """Have the hand let go of a joint."""
        number = self._hands[self.names.index(name)]
        limit = HAND_STRENGTH * strength_of(self.motors[name]).torque_nm
        self.data.ctrl[number] = 0.0
        self.model.actuator_biasprm[number, 1:3] = 0.0
        self.model.actuator_forcerange[number] = (-limit, limit)
        self._held.pop(name, None)

    def step(self, drives: Mapping[str, Drive], count: int) -> None:
        """Let time pass, in steps of 2 ms, and have the motors measure what came of it."""
        data, model = self.data, self.model
        ordered = [drives[name] for name in self.names]
        for _ in range(count):
            for number, at, drive in zip(self._drives, self._at, ordered, strict=True):
                pull = drive.pull(float(data.qpos[at]), STEP_S)
                data.ctrl[number] = pull.push
                model.actuator_biasprm[number, 1:3] = (-pull.stiffness, -pull.brake)
                model.actuator_forcerange[number] = (-pull.limit, pull.limit)
            self._mj_step(model, data)
        for number, at, moving, drive in zip(self._drives, self._at, self._moving_at, ordered, strict=True):
            torque = float(data.actuator_force[number])
            drive.measure(float(data.qpos[at]), float(data.qvel[moving]), torque, count * STEP_S)

    def state(self) -> list[float]:
        """All angles, for a picture."""
        return [float(angle) for angle in self.data.qpos]

    def touches_table(self) -> bool:
        """Whether any part of the arm touches the table."""
        return int(self.data.ncon) > 0

    def height(self, body: str) -> float:
        """How high a part of the arm is above the table, in metres."""
        found: Any = self.data.body(body)
        return float(found.xpos[2])
