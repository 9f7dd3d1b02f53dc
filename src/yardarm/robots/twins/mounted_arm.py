"""An arm's motors in its body, on its table: what moves, without a port and without a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.bus_device import BODY, BusDevice
from yardarm.robots.making import ROBOTS, TELEOPERATORS, find_driver
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT, Motor, MotorCalibration
from yardarm.robots.motors.registers import MODELS, require_known
from yardarm.robots.pair import ArmPair
from yardarm.robots.twins.arm_model import STEP_S, ArmModel, model_for
from yardarm.robots.twins.body import ArmBody
from yardarm.robots.twins.drive import Drive
from yardarm.robots.twins.dynamixel_drive import DynamixelDrive
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.feetech_drive import FeetechDrive
from yardarm.robots.twins.mounting import calibration_of, mount
from yardarm.robots.twins.servo import DynamixelServo, Servo
from yardarm.robots.twins.strength import strength_of

__all__ = ["SLICE", "MountedArm", "driver_of"]

# Motors measure, and whoever is outside is served, after so many steps.
SLICE = 5


class MountedArm:
    """An arm by its type's name; `Twin` says what the arguments mean."""

    def __init__(
        self,
        type: str,
        *,
        calibration: Mapping[str, MotorCalibration] | None = None,
        calibrated: bool = False,
        use_degrees: bool | None = None,
        published_model: bool | None = None,
        scene: str = "",
        seed: int = 0,
    ) -> None:
        self.type, self.driver = type, driver_of(type)
        self.is_leader = type in TELEOPERATORS.names()
        self.motors = _motors(self.driver, use_degrees)
        self.model: ArmModel = model_for(self.driver.name, self.motors, published_model, scene)
        self.body = ArmBody(self.model)
        if calibrated and calibration is None:
            calibration = self._built_calibration() or calibration_of(
                self.motors, self.body.travels, self.driver.full_turn, self.driver.reversed
            )
        self.calibration = dict(calibration) if calibration else None
        self._check_calibration()
        self.chain = chain_of(self.motors, self.calibration)
        self.servos: dict[str, Servo] = dict(zip(self.motors, self.chain.servos, strict=True))
        self.drives = self._mounted()
        self.supply_share = 1.0
        """How much of its voltage the supply has: below 1, it is weak."""
        self.seconds = 0.0
        """How long it has lived."""
        self._begin(seed)

    @property
    def success(self) -> bool:
        """Whether the scene is as it should be in the end."""
        scene = self.model.scene
        return scene is not None and scene.success(self.body.model, self.body.data)

    def live(self, steps: int) -> None:
        """Let a few steps of 2 ms pass, and have the motors measure what came of it."""
        self.body.step(self.drives, steps)
        self._power()
        self.seconds += steps * STEP_S

    def _begin(self, seed: int) -> None:
        """A follower lies folded, a leader is held in its middle."""
        if not self.is_leader:
            self.body.place({name: self._within(name, angle) for name, angle in self.model.rest.items()})
        if self.model.scene is not None:
            self.model.scene.place(self.body.model, self.body.data, seed)
        self.live(0)

    def _mounted(self) -> dict[str, Drive]:
        """The motors in their joints, whose ends are the calibration's."""
        travels, drives = self.body.travels, dict[str, Drive]()
        # An arm that needs no calibration is built so that a certain one fits, whatever its motors have.
        fitting = self.calibration or self._built_calibration() or {}
        for name, motor in self.motors.items():
            mounting = mount(motor, travels[name], fitting.get(name), name in self.driver.reversed)
            kind = DynamixelDrive if isinstance(self.servos[name], DynamixelServo) else FeetechDrive
            drives[name] = kind(self.servos[name], mounting, strength_of(motor))
        self.body.limit({name: drive.mounting.travel for name, drive in drives.items()})
        return drives

    def _built_calibration(self) -> dict[str, MotorCalibration] | None:
        """The calibration that the arm's driver knows without looking; None: somebody has to show it."""
        offsets, reversed = self.driver.built_offsets, self.driver.reversed
        if offsets is None:
            return None
        return {
            name: MotorCalibration(
                motor.id, int(name in reversed), offsets.get(name, 0), 0, MODELS[motor.model].resolution - 1
            )
            for name, motor in self.motors.items()
        }

    def _power(self) -> None:
        total = sum(drive.current_a for drive in self.drives.values())
        for drive in self.drives.values():
            drive.supply(total, self.supply_share)

    def _within(self, name: str, angle: float) -> float:
        travel = self.drives[name].mounting.travel
        return min(max(angle, travel.low), travel.high)

    def _check_calibration(self) -> None:
        if self.calibration and self.calibration.keys() != self.motors.keys():
            raise UsageError(
                f"the calibration is for {', '.join(self.calibration)}, but {self.type} has {', '.join(self.motors)}"
            )


def driver_of(type: str, section: str = "") -> type[BusDevice]:
    """The driver of an arm whose motors are on one bus; `section` says which of both registries to look into."""
    registry = {"robot": ROBOTS, "teleop": TELEOPERATORS}.get(section)
    if registry is None:
        registry = TELEOPERATORS if type in TELEOPERATORS.names() else ROBOTS
    driver: Any = find_driver(registry, type)
    if issubclass(driver, ArmPair):
        raise UsageError(f"{type} is two arms; start a twin for each, with ids that end in _left and _right")
    if not issubclass(driver, BusDevice):
        raise UsageError(f"{type} is not an arm on one bus, so it has no twin")
    require_known(motor.model for motor in driver.motors.values())
    return driver


def _motors(driver: type[BusDevice], use_degrees: bool | None) -> dict[str, Motor]:
    """The motors, with the unit that the driver would show."""
    if use_degrees is None:
        use_degrees = getattr(driver.config_class, "use_degrees", False)
    body = DEGREES if use_degrees else SIGNED_PERCENT
    return {name: replace(motor, unit=body) if motor.unit == BODY else motor for name, motor in driver.motors.items()}
