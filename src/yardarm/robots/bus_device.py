"""Arms on a bus of motors: connecting, comparing calibrations, and leaving them safe."""

from __future__ import annotations

import contextlib
import logging
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import BusFault, RobotFault, UsageError
from yardarm.robots.bus_log.writing import BusLog
from yardarm.robots.calibrating import (
    calibrate_anew,
    calibrate_as_built,
    check_calibration,
    undo_calibration,
    write_drive_modes,
)
from yardarm.robots.device import Device, DeviceConfig, Features
from yardarm.robots.motor_setup import set_up_motors
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT, Motor, MotorBus
from yardarm.robots.motors.register_bus import RETRIES
from yardarm.robots.motors.registers import require_known
from yardarm.robots.operator import Operator, TerminalOperator
from yardarm.robots.torque_watch import TorqueWatch
from yardarm.robots.uninterrupted import uninterrupted

__all__ = ["BODY", "BusDevice", "BusDeviceConfig", "joint_name"]

log = logging.getLogger(__name__)

BODY = "body"
"""The unit of a motor that turns a joint: degrees, or −100 to 100, as the user wishes."""

POSITION = ".pos"


@dataclass
class BusDeviceConfig(DeviceConfig):
    """Flags of every arm on a bus."""

    port: str = option("", "the serial port, such as /dev/ttyACM0; `yardarm find-port` lists them")
    num_read_retries: int = option(RETRIES, "how often to ask again when motors do not answer")
    log: Path | None = option(None, "a file that keeps every packet; `yardarm robot log FILE` shows it")
    watchdog: bool = option(True, "have a second process release the motors if this one is killed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_read_retries < 0:
            raise UsageError(f"num_read_retries must not be negative, got {self.num_read_retries}")


class BusDevice(Device):
    """An arm whose motors are on one bus. A driver lists the motors, and what is written at `configure`."""

    config_class: ClassVar[type[DeviceConfig]] = BusDeviceConfig
    bus_class: ClassVar[type[MotorBus]]
    motors: ClassVar[Mapping[str, Motor]]
    full_turn: ClassVar[tuple[str, ...]] = ()
    """Joints that turn all the way round: they need no sweep."""
    reversed: ClassVar[tuple[str, ...]] = ()
    """Joints whose motors turn the other way round."""
    built_offsets: ClassVar[Mapping[str, int] | None] = None
    """The homing offsets of an arm that is built so that nobody has to show it anything; None: somebody has to."""
    calibration_mode: ClassVar[int]
    """The operating mode in which motors show where they are, and nothing else."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if not config.port:
            raise UsageError(f"{self}: port is missing; `yardarm find-port` lists what is plugged in")
        require_known(motor.model for motor in self.motors.values())
        body = DEGREES if getattr(config, "use_degrees", False) else SIGNED_PERCENT
        motors = {
            name: replace(motor, unit=body) if motor.unit == BODY else motor for name, motor in self.motors.items()
        }
        bus_log = BusLog(config.log, self._about()) if config.log else None
        self.bus = self.bus_class(config.port, motors, self.calibration, bus_log.on_bytes if bus_log else None)
        self.bus.log = bus_log
        if self.calibration:
            check_calibration(self, self.calibration, self.calibration_fpath)
        self._watch: TorqueWatch | None = None

    def _about(self) -> dict[str, Any]:
        """What a log of the bus says of this device."""
        # A camera's address may contain a password, and a bus knows nothing of cameras.
        config = {name: value for name, value in asdict(self.config).items() if name != "cameras"}
        return {"device": self.name, "id": self.id, "config": config}

    @property
    def joint_features(self) -> Features:
        """The positions of all motors."""
        return {f"{name}.pos": float for name in self.motors}

    @property
    def is_connected(self) -> bool:
        """Whether the port is open."""
        return self.bus.is_connected

    @property
    def is_calibrated(self) -> bool:
        """Whether the motors have the calibration of the file."""
        return self.bus.is_calibrated

    def connect(self, calibrate: bool = True) -> None:
        """Open the port, see that all motors are there, compare calibrations, and configure."""
        self.require_disconnected()
        self._stop_watching()
        self.bus.connect()
        try:
            if self.config.watchdog and self.releases_at_the_end:
                self._watch = TorqueWatch(str(self), self.bus)
            if not self.is_calibrated and calibrate:
                # LeRobot's bytes: what is not released for the question is not released for the answer.
                self._calibrate(TerminalOperator(), release=False)
            self._connect_more()
            self.configure()
        except BaseException:
            try:
                self._leave(release=True)
            except RobotFault as fault:
                log.warning("%s: %s", self, fault)  # what went wrong first says more
            raise

    @property
    def releases_at_the_end(self) -> bool:
        """Whether its motors are without torque after `disconnect`; if not, nobody releases them behind its back."""
        return True

    def disconnect(self) -> None:
        """Release the motors, unless told otherwise, and close the port."""
        self.require_connected()
        self._leave(self.releases_at_the_end)

    def _leave(self, release: bool) -> None:
        """Close the port, with the motors released: by the watchdog, if they do not listen now."""
        if self.bus.line.is_inherited:  # the arm is the parent's, which may be moving it
            self.bus.line.close()
            return
        with uninterrupted():
            try:
                self.bus.disconnect(release)
            except BusFault:
                if self._watch is not None:
                    self._watch.take_over()
                raise
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.done()
            self._watch = None

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Connected inside of the block, with nothing configured: to switch torque on here could make the arm jump."""
        self.require_disconnected()
        self.bus.connect()
        try:
            self.bus.stored = self.bus.read_calibration()
            yield
        finally:
            self._leave(self.releases_at_the_end)

    def release(self, joints: Iterable[str] | None = None) -> None:
        """Switch torque off, of all joints or of some: the arm falls, unless somebody holds it."""
        self.require_connected()
        self.bus.disable_torque(joints)

    def _connect_more(self) -> None:
        """Connect what else belongs to it, such as cameras."""

    def calibrate(self, operator: Operator | None = None) -> None:
        """Have a person show the middle and the ends of all joints, or keep the file's calibration."""
        self.require_connected()
        self._calibrate(operator or TerminalOperator(), release=True)

    def _calibrate(self, operator: Operator, release: bool) -> None:
        """Calibrate; without `release`, what is written on ENTER may find torque on."""
        if self.built_offsets is not None:
            self.calibration = calibrate_as_built(self, self.built_offsets)
        else:
            if released := self.bus.refuses_with_torque:
                self.bus.disable_torque()
            if self.calibration and self._keeps_its_file(operator, release):
                return
            if not released:
                self.bus.disable_torque()
            self.calibration = calibrate_anew(self, operator)
        self.bus.stored = dict(self.calibration)
        self.save_calibration()
        operator.say(f"Saved the calibration of {self} to {self.calibration_fpath}")

    def _keeps_its_file(self, operator: Operator, release: bool) -> bool:
        """Whether the person wants the calibration of the file, which is then in the motors, too."""
        agrees = self.bus.stored is not None and self.bus.agrees(self.bus.stored)
        have, enter = ("have", "keep it") if agrees else ("do not have", "write it into them")
        may_hold = not self.bus.refuses_with_torque
        if may_hold and not release:
            enter += " (an arm that holds its position would move: switch its power off and on first)"
        answer = operator.ask(
            f"The motors of {self} {have} the calibration of {self.calibration_fpath}. Press ENTER to {enter}, or "
            "type c and ENTER to calibrate anew:"
        )
        if answer.strip().lower() == "c":
            return False
        if not agrees:
            if may_hold and release:
                self.bus.disable_torque()
            write_drive_modes(self.bus, self.calibration, self.bus.stored)
            self.bus.write_calibration(self.calibration)
            self.bus.stored = dict(self.calibration)
        operator.say("It is kept; nothing was changed." if agrees else "It is in the motors now.")
        return True

    def undo_calibration(self) -> None:
        """Go back to the calibration before the last one, in the motors and in the file; a second call redoes it."""
        self.require_connected()
        undo_calibration(self)

    def setup_motors(self, operator: Operator | None = None) -> None:
        """Give new motors their ids: a person plugs in one after the other. Opens the port by itself."""
        self.require_disconnected()
        self.bus.connect(handshake=False)
        try:
            set_up_motors(self, operator or TerminalOperator())
        finally:
            if self.bus.is_connected:  # the cable may be unplugged
                self.bus.disconnect(disable_torque=False)

    def positions(self) -> dict[str, float]:
        """Where all joints are."""
        self.require_connected()
        present = self.bus.sync_read("Present_Position", num_retry=self.config.num_read_retries)
        return {f"{name}.pos": value for name, value in present.items()}

    def goals(self, action: Mapping[str, Any]) -> dict[str, float]:
        """Where an action sends the joints, by their names."""
        goals = {joint_name(name): _number(name, value) for name, value in action.items() if name.endswith(POSITION)}
        if not goals:
            raise UsageError(f"{self}: the action names no joint; it must have one of {', '.join(self.joint_features)}")
        return goals

    @abstractmethod
    def configure(self) -> None:
        """Write what the arm needs into its motors."""


def joint_name(feature: str) -> str:
    """The joint that a feature such as ``gripper.pos`` is of."""
    return feature.removesuffix(POSITION)


def _number(name: str, value: Any) -> float:
    with contextlib.suppress(TypeError, ValueError):
        if math.isfinite(number := float(value)):
            return number
    raise UsageError(f"{name} must be a finite number, got {value!r}")
