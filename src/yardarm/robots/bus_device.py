"""Arms on a bus of motors: connecting, comparing calibrations, and leaving them safe."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm.robots.calibrating import calibrate_anew
from yardarm.robots.device import Device, DeviceConfig, Features
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT, Motor, MotorBus
from yardarm.robots.motors.bus import RETRIES
from yardarm.robots.operator import Operator, TerminalOperator

__all__ = ["BODY", "BusDevice", "BusDeviceConfig"]

BODY = "body"
"""The unit of a motor that turns a joint: degrees, or −100 to 100, as the user wishes."""


@dataclass
class BusDeviceConfig(DeviceConfig):
    """Flags of every arm on a bus."""

    port: str = option("", "the serial port, such as /dev/ttyACM0; `yardarm find-port` lists them")
    num_read_retries: int = option(RETRIES, "how often to ask again when motors do not answer")


class BusDevice(Device):
    """An arm whose motors are on one bus. A driver lists the motors, and what is written at `configure`."""

    config_class: ClassVar[type[DeviceConfig]] = BusDeviceConfig
    bus_class: ClassVar[type[MotorBus]]
    motors: ClassVar[Mapping[str, Motor]]
    full_turn: ClassVar[tuple[str, ...]] = ()
    """Joints that turn all the way round: they need no sweep."""
    reversed: ClassVar[tuple[str, ...]] = ()
    """Joints whose motors turn the other way round."""
    calibration_mode: ClassVar[int]
    """The operating mode in which motors show where they are, and nothing else."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if not config.port:
            raise UsageError(f"{self}: port is missing; `yardarm find-port` lists what is plugged in")
        body = DEGREES if getattr(config, "use_degrees", False) else SIGNED_PERCENT
        motors = {
            name: replace(motor, unit=body) if motor.unit == BODY else motor for name, motor in self.motors.items()
        }
        self.bus = self.bus_class(config.port, motors, self.calibration)

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
        return bool(self.calibration) and self.bus.is_calibrated

    def connect(self, calibrate: bool = True) -> None:
        """Open the port, see that all motors are there, compare calibrations, and configure."""
        self.require_disconnected()
        self.bus.connect()
        try:
            if not self.is_calibrated and calibrate:
                self.calibrate()
            self._connect_more()
            self.configure()
        except BaseException:
            self.bus.disconnect()
            raise

    def _connect_more(self) -> None:
        """Connect what else belongs to it, such as cameras."""

    def calibrate(self, operator: Operator | None = None) -> None:
        """Have a person show the middle and the ends of all joints, or write the file's calibration into the motors."""
        self.require_connected()
        operator = operator or TerminalOperator()
        if self.calibration:
            answer = operator.ask(
                f"The motors of {self} do not have the calibration of {self.calibration_fpath}. Press ENTER to write "
                "it into them, or type c and ENTER to calibrate anew:"
            )
            if answer.strip().lower() != "c":
                self.bus.write_calibration(self.calibration)
                return
        self.calibration = calibrate_anew(self, operator)
        self.save_calibration()
        operator.say(f"Saved the calibration of {self} to {self.calibration_fpath}")

    def positions(self) -> dict[str, float]:
        """Where all joints are."""
        self.require_connected()
        present = self.bus.sync_read("Present_Position", retries=self.config.num_read_retries)
        return {f"{name}.pos": value for name, value in present.items()}

    @abstractmethod
    def configure(self) -> None:
        """Write what the arm needs into its motors."""
