"""What robots and teleoperators share: a configuration, a life cycle, and a calibration file."""

from __future__ import annotations

import contextlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from yardarm.config import option
from yardarm.errors import AlreadyConnected, NotConnected, RobotFault
from yardarm.files import write_atomically
from yardarm.robots.motors import MotorCalibration, calibration_to_json, read_calibration_file
from yardarm.robots.places import calibration_folder

__all__ = ["Device", "DeviceConfig", "Features"]

log = logging.getLogger(__name__)

Features = dict[str, type | tuple[int, ...]]
"""Names of values: `float` for a number, (height, width, channels) for a picture."""


@dataclass
class DeviceConfig:
    """Flags of every robot and teleoperator."""

    id: str | None = option(None, "a name for this device: its calibration is kept under it")
    calibration_dir: Path | None = option(None, "the folder of its calibration [LeRobot's]")


class Device(ABC):
    """Something with a plug. Inside a ``with`` block it is connected."""

    name: ClassVar[str]
    """The name of its kind, in datasets and in the path of its calibration."""
    folder: ClassVar[str]
    """Where its kind's calibrations are: robots, or teleoperators."""
    config_class: ClassVar[type[DeviceConfig]] = DeviceConfig

    def __init__(self, config: Any) -> None:
        self.config = config
        self._owner = os.getpid()
        self.id: str | None = config.id
        self.calibration_dir: Path = config.calibration_dir or calibration_folder(self.folder, self.name)
        # LeRobot's name for the file of a device without a name.
        self.calibration_fpath = self.calibration_dir / f"{self.id}.json"
        self.calibration: dict[str, MotorCalibration] = (
            read_calibration_file(self.calibration_fpath) if self.calibration_fpath.is_file() else {}
        )

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether it can be talked to."""

    @property
    @abstractmethod
    def is_calibrated(self) -> bool:
        """Whether it has the calibration of its file."""

    @abstractmethod
    def connect(self, calibrate: bool = True) -> None:
        """Open the connection, calibrate if that is needed and allowed, and configure."""

    @abstractmethod
    def disconnect(self) -> None:
        """Leave it in a safe state, and close the connection."""

    @abstractmethod
    def calibrate(self) -> None:
        """Ask the user to move it, and keep where its middle and ends are."""

    @abstractmethod
    def configure(self) -> None:
        """Set what it needs to work."""

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Connected inside of the block, for what a person does with it by hand; if possible, not configured."""
        self.connect(calibrate=False)
        try:
            yield
        finally:
            self.disconnect()

    def release(self, joints: Iterable[str] | None = None) -> None:
        """Let a person move it by hand; what has no motors that hold it needs nothing more."""
        self.require_connected()

    def save_calibration(self) -> None:
        """Write the calibration file, and keep the one before, so that it can be put back."""
        self.calibration_dir.mkdir(parents=True, exist_ok=True)
        content = calibration_to_json(self.calibration).encode()
        if self.calibration_fpath.is_file() and (before := self.calibration_fpath.read_bytes()) != content:
            write_atomically(self.previous_calibration_fpath, lambda file: file.write(before))
        write_atomically(self.calibration_fpath, lambda file: file.write(content))

    @property
    def previous_calibration_fpath(self) -> Path:
        """The calibration before the last one."""
        return self.calibration_fpath.with_suffix(".json.previous")

    def require_connected(self) -> None:
        """Raise unless it is connected."""
        if not self.is_connected:
            raise NotConnected(f"{self} is not connected; call connect() first")

    def require_disconnected(self) -> None:
        """Raise if it is connected."""
        if self.is_connected:
            raise AlreadyConnected(f"{self} is already connected")

    def __str__(self) -> str:
        return f"{self.name} '{self.id}'" if self.id else self.name

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.disconnect()
        except NotConnected:
            pass  # it was disconnected inside of the block
        except RobotFault as fault:
            if error is None:
                raise
            log.warning("%s: %s", self, fault)  # what ended the block says more

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be half gone
            if self._owner == os.getpid():  # a child has a copy, which is not its own to leave
                self.disconnect()
