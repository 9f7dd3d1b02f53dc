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
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from yardarm.errors import UsageError, nearest
from yardarm.robots.motors import MotorCalibration
from yardarm.robots.twins.arm_model import STEP_S
from yardarm.robots.twins.clock import WallClock
from yardarm.robots.twins.door import TwinDoor, TwinSpec, TwinState
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.motion import Motion, joint_name
from yardarm.robots.twins.mounted_arm import SLICE, MountedArm
from yardarm.robots.twins.port import Outgoing, PortServer
from yardarm.robots.twins.unpacked import UnpackedMotors

__all__ = ["JointState", "Script", "Twin"]

Script = Callable[[float], Mapping[str, float]]
"""Where a hand holds joints at a time, in the joints' units."""


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


class Twin(MountedArm):
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
        super().__init__(
            type,
            calibration=calibration,
            calibrated=calibrated,
            use_degrees=use_degrees,
            published_model=published_model,
            scene=scene,
            seed=seed,
        )
        if unpacked:
            UnpackedMotors(self.chain, self.motors)
        self._owed = 0.0
        self._lock = threading.RLock()
        self._held: dict[str, float] = {}
        self._script: Script | None = None
        self._script_began = 0.0
        self._seed, self._episode = seed, 0
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
        ranges = {name: drive.mounting.shown for name, drive in self.drives.items()}
        ends = {name: (shown.low, shown.high) for name, shown in ranges.items()}
        return TwinSpec(self.type, self.model.kind, scene.name if scene else "", self.is_real_time, ends)

    def look(self) -> TwinState:
        """Where everything is, for its door."""
        with self._lock:
            return TwinState(self.seconds, time.monotonic(), tuple(self.body.state()), self._episode, self.success)

    # Inside.

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
                self.live(count)
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
