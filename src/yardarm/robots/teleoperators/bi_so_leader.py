"""Two SO-100 or SO-101 leaders as one teleoperator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from yardarm.robots.device import DeviceConfig
from yardarm.robots.pair import ArmPair, prefixed
from yardarm.robots.teleoperator import Teleoperator
from yardarm.robots.teleoperators.so_leader import SoLeader, SoLeaderConfig

__all__ = ["BiSoLeader", "BiSoLeaderConfig"]


@dataclass
class BiSoLeaderConfig(DeviceConfig):
    """Flags of ``--teleop.type=bi_so_leader``."""

    left_arm_config: SoLeaderConfig = field(default_factory=SoLeaderConfig)
    right_arm_config: SoLeaderConfig = field(default_factory=SoLeaderConfig)


class BiSoLeader(ArmPair, Teleoperator):
    """The arms that a person moves."""

    name = "bi_so_leader"
    config_class = BiSoLeaderConfig
    arm_class = SoLeader

    def get_action(self) -> dict[str, Any]:
        """Where the person holds the joints of both arms."""
        self.require_connected()
        return prefixed(self.side_by_side(lambda arm: arm.get_action(), self.arms))
