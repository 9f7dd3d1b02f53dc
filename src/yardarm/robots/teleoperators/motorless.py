"""What teleoperators without motors share: nothing is calibrated, set up, or released."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm.robots.device import DeviceConfig, Features
from yardarm.robots.teleoperator import Teleoperator

__all__ = ["CLOSE", "OPEN", "STAY", "HandConfig", "HandTeleoperator", "MotorlessTeleoperator"]

CLOSE, STAY, OPEN = 0.0, 1.0, 2.0


class MotorlessTeleoperator(Teleoperator):
    """A keyboard, a gamepad: something with keys."""

    @property
    def is_calibrated(self) -> bool:
        """There is nothing to calibrate."""
        return True

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """Refuse: this is for what a person moves by hand, or calibrates."""
        self.calibrate()
        yield

    def calibrate(self) -> None:
        """Refuse."""
        raise UsageError(f"{self} has no motors: there is nothing to calibrate")

    def configure(self) -> None:
        """Nothing to do."""


@dataclass
class HandConfig(DeviceConfig):
    """Flags of teleoperators that move an arm's hand."""

    use_gripper: bool = option(True, "control the gripper, too")


class HandTeleoperator(MotorlessTeleoperator):
    """Moves the hand, not joints: ``delta_x``, ``delta_y``, ``delta_z`` from −1 to 1, ``gripper`` 0, 1 or 2."""

    config_class = HandConfig

    @property
    def action_features(self) -> Features:
        """The directions, and the gripper."""
        names = ["delta_x", "delta_y", "delta_z", *(["gripper"] if self.config.use_gripper else [])]
        return dict.fromkeys(names, float)

    def _action(self, deltas: tuple[float, float, float], opens: bool, closes: bool) -> dict[str, Any]:
        """An action; who opens and closes at once does neither."""
        gripper = STAY + (OPEN - STAY) * opens + (CLOSE - STAY) * closes
        return dict(zip(self.action_features, (*deltas, gripper), strict=False))
