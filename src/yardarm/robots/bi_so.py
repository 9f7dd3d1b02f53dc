"""Two SO-100 or SO-101 followers as one robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.rig import CameraRig
from yardarm.robots.device import DeviceConfig, Features
from yardarm.robots.motors import MotorHealth
from yardarm.robots.pair import ArmPair, prefixed, without_prefix
from yardarm.robots.reading import Reading
from yardarm.robots.robot import Robot
from yardarm.robots.so_arm import SoFollower, SoFollowerConfig

__all__ = ["BiSoFollower", "BiSoFollowerConfig"]


@dataclass
class BiSoFollowerConfig(DeviceConfig):
    """Flags of ``--robot.type=bi_so_follower``."""

    left_arm_config: SoFollowerConfig = field(default_factory=SoFollowerConfig)
    right_arm_config: SoFollowerConfig = field(default_factory=SoFollowerConfig)
    cameras: dict[str, CameraConfig] = field(
        default_factory=dict,
        metadata={"help": "cameras on neither arm; an arm's own are among its options"},
    )


class BiSoFollower(ArmPair, Robot):
    """The arms that act."""

    name = "bi_so_follower"
    config_class = BiSoFollowerConfig
    arm_class = SoFollower
    arm_options = {"cameras": {}}  # noqa: RUF012 - they are the pair's, under the pair's names

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        sides = {side: getattr(config, f"{side}_arm_config").cameras for side in self.arms}
        self._rig = CameraRig({**prefixed(sides), **config.cameras}, self.action_features)
        for side, arm in self.arms.items():
            for name in sides[side]:
                self.cameras[f"{side}_{name}"].belongs_to(arm.bus.port)

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """The cameras of both arms, and those of neither."""
        return self._rig.cameras

    def connect(self, calibrate: bool = True) -> None:
        """Connect both arms and all cameras, or nothing."""
        super().connect(calibrate)
        try:
            self._rig.connect()
        except BaseException:
            super().disconnect()
            raise

    def disconnect(self) -> None:
        """Leave both arms safe, then close the cameras."""
        try:
            super().disconnect()
        finally:
            self._rig.disconnect()

    @property
    def observation_features(self) -> Features:
        """The joints of both arms, and what the cameras give."""
        return {**self.action_features, **self._rig.features}

    @property
    def action_units(self) -> dict[str, str]:
        """The units of both arms' joints."""
        return prefixed({side: arm.action_units for side, arm in self.arms.items()})

    def health(self) -> dict[str, MotorHealth | None]:
        """How the motors of both arms are."""
        self.require_connected()
        return prefixed(self.side_by_side(lambda arm: arm.health(), self.arms))

    def positions(self) -> dict[str, float]:
        """Where the joints of both arms are."""
        self.require_connected()
        return prefixed(self.side_by_side(lambda arm: arm.positions(), self.arms))

    def get_observation(self) -> dict[str, Any]:
        """The positions of both arms' joints, and the cameras' pictures."""
        return self._rig.fresh_values(self.observe())

    def observe(self) -> Reading:
        """The positions of both arms' joints and the cameras' newest pictures, with their times."""
        positions = self.positions()
        return self._rig.reading(positions, self.clock.now())

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send the joints of both arms to their goals, and return the goals that were sent."""
        self.require_connected()
        goals = {side: without_prefix(action, side) for side in self.arms}
        if not any(goals.values()):
            raise UsageError(
                f"{self}: the action names no joint; it must have one of {', '.join(self.action_features)}"
            )
        return prefixed({side: arm.send_action(goals[side]) for side, arm in self.arms.items() if goals[side]})
