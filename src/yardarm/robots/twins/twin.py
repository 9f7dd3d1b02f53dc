"""An arm without hardware: motors that answer on a port, in a body that moves.

a program ──▶ port ──▶ motors' registers ──▶ drives ──▶ MuJoCo ──▶ registers ──▶ port ──▶ the program
                                                 ▲
                          the clock on the wall, or `advance`; a hand, a script
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from yardarm.errors import UsageError, nearest
from yardarm.robots.bus_device import BODY, BusDevice
from yardarm.robots.making import ROBOTS, TELEOPERATORS, find_driver
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT, Motor, MotorCalibration
from yardarm.robots.motors.registers import MODELS, require_known
from yardarm.robots.pair import ArmPair
from yardarm.robots.twins.arm_model import STEP_S, ArmModel, model_for
from yardarm.robots.twins.body import ArmBody
from yardarm.robots.twins.clock import WallClock
from yardarm.robots.twins.door import TwinDoor, TwinSpec, TwinState
from yardarm.robots.twins.drive import Drive
from yardarm.robots.twins.dynamixel_drive import DynamixelDrive
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.feetech_drive import FeetechDrive
from yardarm.robots.twins.motion import Motion, joint_name
from yardarm.robots.twins.mounting import calibration_of, mount
from yardarm.robots.twins.port import Outgoing, PortServer
from yardarm.robots.twins.servo import DynamixelServo, Servo
from yardarm.robots.twins.strength import strength_of
from yardarm.robots.twins.unpacked import UnpackedMotors

__all__ = ["JointState", "Script", "Twin", "driver_of"]

Script = Callable[[float], Mapping[str, float]]
"""Where a hand holds joints at a time, in the joints' units."""
# The wire waits no longer than this many steps take, and scripts move the hand as often.
SLICE = 5


@dataclass(frozen=True, slots=True)
class JointState:
    """How a joint is, and how its motor is."""

    name: str
    unit: str
    position: float
    low: float
    high: float
    steps: int
    """What the motor shows."""
    has_torque: bool
    is_held: bool
    """Whether a hand holds it."""
    load: float
    """The share of the motor's torque, −1 to 1."""
    current_a: float
    temperature_c: float
    voltage: float
    error: int
    """What the motor complains about in its answers."""


class Twin:
    """An arm by its type's name. Inside of a ``with`` block it lives; `port` is where.

    Its motors come from the factory, with their ids set up; or have a `calibration`; or, if `calibrated`, one that a
    careful person would have found (`calibration` then is that one). It lives in real time, or by `advance` alone.
    `unpacked` motors have no ids of their own yet, and are plugged in one by one. `faults` disturb what it answers, as
    ``--twin.faults`` does. A `scene` puts things on its table, where `seed` says. Beside the port it has a door, for
    those who know that it is a twin (`open_door`).
    """

    clock: WallClock | None = None  # here, because its thread may run before it is assigned

    def __init__(
        self,
        type: str,
        *,
        calibration: Mapping[str, MotorCalibration] | None = None,
        calibrated: bool = False,
        real_time: bool = True,
        use_degrees: bool | None = None,
        published_model: bool | None = None,
        unpacked: bool = False,
        faults: str = "",
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
        if unpacked:
            UnpackedMotors(self.chain, self.motors)
        self.supply_share = 1.0
        """How much of its voltage the supply has: below 1, it is weak."""
        self.seconds = 0.0
        """How long it has lived."""
        self._owed = 0.0
        self._lock = threading.RLock()
        self._held: dict[str, float] = {}
        self._script: Script | None = None
        self._script_began = 0.0
        self._seed, self._episode = seed, 0
        self._begin()
        self._faults = FaultInjector(
            parse_faults(faults, self.motors),
            self.chain,
            lambda content: map(Outgoing, self.chain.take(content)),
            clock=lambda: self.seconds,
        )
        self._server = PortServer(self._answers)
        self.port = self._server.path
        self.clock = WallClock(self._pass) if real_time else None
        self._door = TwinDoor.opened(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unplug it."""
        if self._door is not None:
            self._door.close()
        if self.clock is not None:
            self.clock.close()
        self._server.close()

    # Time.

    @property
    def is_real_time(self) -> bool:
        """Whether time passes by itself."""
        return self.clock is not None

    def advance(self, seconds: float) -> None:
        """Let time pass, after everything that was sent until now has been heard. For twins without a clock."""
        if self.clock is not None:
            raise UsageError("this twin lives in real time; make it with real_time=False to advance it")
        self._server.settle()
        self._pass(seconds)

    def settle(self) -> None:
        """Return once the motors have heard everything that was sent until now."""
        self._server.settle()

    # What a person does to it.

    def hold(self, positions: Mapping[str, float]) -> None:
        """Have a hand take joints, pull them to positions in their units, and hold them there."""
        wanted = self._checked(positions)
        with self._lock:
            self._held |= wanted

    def release(self, names: Iterable[str] | None = None) -> None:
        """Let go of joints, or of all. A leader's stay where they are, unless their motors pull."""
        with self._lock:
            for name in self.motors if names is None else map(self._known, names):
                self._held.pop(name, None)
                self.body.release(name)

    def play(self, script: Script | None) -> None:
        """Have a hand move joints by a script from now on: a function of the time since now, or a `Motion`."""
        if isinstance(script, Motion):
            script.check_joints(list(self.motors))
        with self._lock:
            self._script, self._script_began = script, self.seconds

    def place(self, positions: Mapping[str, float]) -> None:
        """Put joints to positions at once, as nothing in the world could."""
        with self._lock:
            self.body.place({name: self._angle(name, value) for name, value in self._checked(positions).items()})
            self.body.step(self.drives, 0)

    def reset_scene(self, seed: int | None = None) -> None:
        """Set up the scene anew, from a seed or from the one after the last; the arm stays where it is."""
        if self.model.scene is None:
            raise UsageError("this twin has nothing on its table; start it with --twin.scene=cube_and_box")
        with self._lock:
            self._seed = self._seed + 1 if seed is None else seed
            self._episode += 1
            self.model.scene.place(self.body.model, self.body.data, self._seed)

    def power_cycle(self) -> None:
        """Pull the plug, and put it back in: what is not in the EEPROM is forgotten."""
        with self._lock:
            for servo in self.servos.values():
                servo.power_cycle()

    # What can be seen.

    @property
    def positions(self) -> dict[str, float]:
        """Where the joints are, in their units."""
        with self._lock:
            return {name: self.drives[name].mounting.value(angle) for name, angle in self.body.angles.items()}

    def complaints(self, error: int) -> tuple[str, ...]:
        """What the error of an answer says."""
        return self.driver.bus_class.protocol.alerts(error)

    def joint_states(self) -> list[JointState]:
        """How joints and motors are."""
        with self._lock:
            return [self._state(name) for name in self.motors]

    @property
    def requests(self) -> int:
        """How many requests the motors have understood."""
        return self.chain.requests

    @property
    def injected(self) -> dict[str, int]:
        """How many faults were injected, by kind."""
        with self._lock:
            return dict(self._faults.injected)

    def angles(self) -> list[float]:
        """All angles of the body, and where things are, for a picture."""
        with self._lock:
            return self.body.state()

    @property
    def about(self) -> TwinSpec:
        """What it is, for its door."""
        scene = self.model.scene
        return TwinSpec(self.type, self.model.kind, scene.name if scene else "", self.is_real_time)

    def look(self) -> TwinState:
        """Where everything is, for its door."""
        with self._lock:
            scene, body = self.model.scene, self.body
            success = scene is not None and scene.success(body.model, body.data)
            # What is owed to the clock on the wall has not happened yet.
            return TwinState(self.seconds, time.monotonic(), tuple(body.state()), self._episode, success)

    # Inside.

    def _begin(self) -> None:
        """A follower lies folded, a leader is held in its middle."""
        if not self.is_leader:
            self.body.place({name: self._within(name, angle) for name, angle in self.model.rest.items()})
        if self.model.scene is not None:
            self.model.scene.place(self.body.model, self.body.data, self._seed)
        with self._lock:
            self.body.step(self.drives, 0)
            self._power()

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

    def _answers(self, content: bytes) -> list[Outgoing]:
        with self._lock:
            return list(self._faults.answer(content))

    def _pass(self, seconds: float) -> None:
        """Step through some time, in slices between which the wire is served."""
        self._owed += seconds
        steps = round(self._owed / STEP_S) if self.clock is None else int(self._owed / STEP_S)
        self._owed -= steps * STEP_S
        while steps > 0:
            count = min(steps, SLICE)
            with self._lock:
                self._move_hands()
                self.body.step(self.drives, count)
                self._power()
                self.seconds += count * STEP_S
            steps -= count

    def _move_hands(self) -> None:
        if self._script is not None:
            self._held |= self._checked(self._script(self.seconds - self._script_began))
        for name, value in self._held.items():
            self.body.hold(name, self._angle(name, value))
        if self.is_leader:
            self._stand_still()

    def _stand_still(self) -> None:
        """A leader's joints stay where they were put, by friction, unless their motors pull."""
        for name, drive in self.drives.items():
            if name in self._held:
                continue
            if drive.has_torque:
                self.body.release(name)
            elif not self.body.is_held(name):
                self.body.hold(name, self._within(name, self.body.angle(name)))

    def _power(self) -> None:
        total = sum(drive.current_a for drive in self.drives.values())
        for drive in self.drives.values():
            drive.supply(total, self.supply_share)

    def _state(self, name: str) -> JointState:
        drive, servo = self.drives[name], self.servos[name]
        mounting = drive.mounting
        volts = "Present_Voltage" if "Present_Voltage" in servo.registers else "Present_Input_Voltage"
        return JointState(
            name=name,
            unit=mounting.unit,
            position=mounting.value(self.body.angle(name)),
            low=mounting.value(mounting.travel.low),
            high=mounting.value(mounting.travel.high),
            steps=servo.present_position(),
            has_torque=drive.has_torque,
            is_held=name in self._held,
            load=drive.load,
            current_a=drive.current_a,
            temperature_c=drive.temperature_c,
            voltage=servo.get(volts) / 10,
            error=servo.error,
        )

    def _angle(self, name: str, value: float) -> float:
        return self.drives[name].mounting.angle_of(value)

    def _within(self, name: str, angle: float) -> float:
        travel = self.drives[name].mounting.travel
        return min(max(angle, travel.low), travel.high)

    def _known(self, name: str) -> str:
        own = joint_name(name)
        if own not in self.motors:
            raise UsageError(f"there is no joint '{own}'{nearest(own, self.motors)} it has {', '.join(self.motors)}")
        return own

    def _checked(self, positions: Mapping[str, float]) -> dict[str, float]:
        checked = {self._known(name): float(value) for name, value in positions.items()}
        for name, value in checked.items():
            if not math.isfinite(value):
                raise UsageError(f"the position of {name} must be a number, got {value}")
        return checked

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
