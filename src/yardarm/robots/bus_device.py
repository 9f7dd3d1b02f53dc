"""Arms on a bus of motors: connecting, comparing calibrations, and leaving them safe."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import NotConnected, UsageError
from yardarm.robots.device import Device, DeviceConfig, Features
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT, Motor, MotorBus

__all__ = ["BODY", "BusDevice", "BusDeviceConfig"]

BODY = "body"
"""The unit of a motor that turns a joint: degrees, or −100 to 100, as the user wishes."""


@dataclass
class BusDeviceConfig(DeviceConfig):
    """Flags of every arm on a bus."""

    port: str = option("", "the serial port, such as /dev/ttyACM0; `yardarm find-port` lists them")
    num_read_retries: int = option(2, "how often to ask again when motors do not answer")


class BusDevice(Device):
    """An arm whose motors are on one bus. A driver lists the motors, and what is written at `configure`."""

    config_class: ClassVar[type[DeviceConfig]] = BusDeviceConfig
    bus_class: ClassVar[type[MotorBus]]
    motors: ClassVar[Mapping[str, Motor]]
    full_turn: ClassVar[tuple[str, ...]] = ()
    """Joints that turn all the way round: they need no sweep."""

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

    def calibrate(self) -> None:
        """Not there yet: calibrations of LeRobot are used as they are."""
        reason = "there is no calibration" if not self.calibration else "the motors have another calibration"
        raise NotConnected(f"{self}: {reason} than {self.calibration_fpath}")

    def positions(self) -> dict[str, float]:
        """Where all joints are."""
        self.require_connected()
        present = self.bus.sync_read("Present_Position", retries=self.config.num_read_retries)
        return {f"{name}.pos": value for name, value in present.items()}

    @abstractmethod
    def configure(self) -> None:
        """Write what the arm needs into its motors."""
