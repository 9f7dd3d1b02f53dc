"""Two SO-100 or SO-101 followers as one robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.device import DeviceConfig, Features
from yardarm.robots.motors import MotorHealth
from yardarm.robots.pair import ArmPair, prefixed, without_prefix
from yardarm.robots.robot import Robot
from yardarm.robots.so_arm import SoFollower, SoFollowerConfig

__all__ = ["BiSoFollower", "BiSoFollowerConfig"]


@dataclass
class BiSoFollowerConfig(DeviceConfig):
    """Flags of ``--robot.type=bi_so_follower``."""

    left_arm_config: SoFollowerConfig = field(default_factory=SoFollowerConfig)
    right_arm_config: SoFollowerConfig = field(default_factory=SoFollowerConfig)


class BiSoFollower(ArmPair, Robot):
    """The arms that act."""

    name = "bi_so_follower"
    config_class = BiSoFollowerConfig
    arm_class = SoFollower

    @property
    def observation_features(self) -> Features:
        """The joints of both arms."""
        return prefixed({side: arm.observation_features for side, arm in self.arms.items()})

    @property
    def action_units(self) -> dict[str, str]:
        """The units of both arms' joints."""
        return prefixed({side: arm.action_units for side, arm in self.arms.items()})

    def health(self) -> dict[str, MotorHealth | None]:
        """How the motors of both arms are."""
        self.require_connected()
        return prefixed(self.side_by_side(lambda arm: arm.health(), self.arms))

    def get_observation(self) -> dict[str, Any]:
        """The positions of both arms' joints."""
        self.require_connected()
        return prefixed(self.side_by_side(lambda arm: arm.get_observation(), self.arms))

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send the joints of both arms to their goals, and return the goals that were sent."""
        self.require_connected()
        goals = {side: without_prefix(action, side) for side in self.arms}
        if not any(goals.values()):
            raise UsageError(
                f"{self}: the action names no joint; it must have one of {', '.join(self.action_features)}"
            )
        return prefixed({side: arm.send_action(goals[side]) for side, arm in self.arms.items() if goals[side]})
