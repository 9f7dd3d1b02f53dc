"""Two arms as one device: names of the left arm begin with ``left_``, those of the right arm with ``right_``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from yardarm.errors import BusFault, RobotFault, UsageError
from yardarm.robots.bus_device import BusDevice
from yardarm.robots.calibrating import previous_calibration
from yardarm.robots.device import Device, Features
from yardarm.robots.operator import Operator
from yardarm.robots.side_by_side import SideBySide
from yardarm.robots.uninterrupted import uninterrupted

__all__ = ["ArmPair", "prefixed", "without_prefix"]

SIDES = ("left", "right")


class ArmPair(Device):
    """Whatever happens to one arm, the other one is left safe, too."""

    arm_class: ClassVar[type[BusDevice]]
    arm_options: ClassVar[Mapping[str, Any]] = {}
    """Options of both arms that are the pair's business, whatever the user said."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.arms = {side: self._arm(side) for side in SIDES}
        self.side_by_side = SideBySide()
        if len({arm.bus.port for arm in self.arms.values()}) < len(SIDES):
            raise UsageError(f"{self}: both arms have the port {self.arms['left'].bus.port}; each needs its own")

    def _arm(self, side: str) -> Any:
        option = f"{side}_arm_config"
        own = getattr(self.config, option)
        if self.id is None:
            raise UsageError(f"{self}: id is missing; the arms' calibrations are kept as ID_left and ID_right")
        for name in ("id", "calibration_dir"):
            if getattr(own, name) is not None:
                raise UsageError(f"{self}: omit {option}.{name}; the pair's {name} is for both arms")
        if not own.port:
            raise UsageError(f"{self}: {option}.port is missing; `yardarm find-port` lists what is plugged in")
        shared = {"calibration_dir": self.config.calibration_dir, **self.arm_options}
        return self.arm_class(replace(own, id=f"{self.id}_{side}", **shared))

    @property
    def left_arm(self) -> Any:
        """The left arm."""
        return self.arms["left"]

    @property
    def right_arm(self) -> Any:
        """The right arm."""
        return self.arms["right"]

    @property
    def action_features(self) -> Features:
        """The joints of both arms."""
        return prefixed({side: arm.action_features for side, arm in self.arms.items()})

    @property
    def is_connected(self) -> bool:
        """Whether both arms are."""
        return all(arm.is_connected for arm in self.arms.values())

    @property
    def is_calibrated(self) -> bool:
        """Whether both arms are."""
        return all(arm.is_calibrated for arm in self.arms.values())

    def connect(self, calibrate: bool = True) -> None:
        """Connect both arms, or none."""
        self.require_disconnected()
        with contextlib.ExitStack() as connected:
            for arm in self.arms.values():
                arm.connect(calibrate)
                connected.callback(arm.disconnect)
            connected.pop_all()

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Both arms connected inside of the block, with nothing configured."""
        with contextlib.ExitStack() as both:
            for arm in self.arms.values():
                both.enter_context(arm.at_rest())
            yield

    def release(self, joints: Iterable[str] | None = None) -> None:
        """Switch torque off in both arms, or in some of their joints; in the second one even if the first fails."""
        wanted = None if joints is None else dict.fromkeys(joints)
        faults = []
        with uninterrupted():
            for side, arm in self.arms.items():
                try:
                    arm.release(None if wanted is None else without_prefix(wanted, side))
                except RobotFault as fault:
                    faults.append(fault)
        if len(faults) > 1:
            raise BusFault("; ".join(map(str, faults)))
        if faults:
            raise faults[0]

    def disconnect(self) -> None:
        """Leave both arms safe, the second one even if the first fails."""
        if not any(arm.is_connected for arm in self.arms.values()):
            self.require_connected()
        with uninterrupted(), contextlib.ExitStack() as both:
            for arm in reversed(self.arms.values()):  # a stack is left in reverse order: the left arm first
                if arm.is_connected:
                    both.callback(arm.disconnect)

    def calibrate(self, operator: Operator | None = None) -> None:
        """Calibrate one arm after the other."""
        for arm in self.arms.values():
            arm.calibrate(operator)

    def undo_calibration(self) -> None:
        """Go back to the calibration before the last one, in both arms; a second call redoes it."""
        for arm in self.arms.values():
            previous_calibration(arm)  # both have one, or neither is changed
        for arm in self.arms.values():
            arm.undo_calibration()

    def setup_motors(self, operator: Operator | None = None) -> None:
        """Give the new motors of one arm after the other their ids."""
        for arm in self.arms.values():
            arm.setup_motors(operator)

    def configure(self) -> None:
        """Configure both arms."""
        for arm in self.arms.values():
            arm.configure()


def prefixed(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What both arms say, under the names of the pair."""
    return {f"{side}_{name}": value for side, own in values.items() for name, value in own.items()}


def without_prefix(values: Mapping[str, Any], side: str) -> dict[str, Any]:
    """What is meant for one arm, under its own names."""
    return {name.removeprefix(f"{side}_"): value for name, value in values.items() if name.startswith(f"{side}_")}
