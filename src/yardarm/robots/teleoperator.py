"""What a teleoperator is: a person moves it, and its actions move a robot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from yardarm.robots.bus_device import BusDevice
from yardarm.robots.device import Device, Features
from yardarm.robots.places import TELEOPERATORS_FOLDER

__all__ = ["BusLeader", "Teleoperator"]


class Teleoperator(Device):
    """Gives actions in a robot's own names."""

    folder = TELEOPERATORS_FOLDER

    @property
    @abstractmethod
    def action_features(self) -> Features:
        """What an action has; known before it is connected."""

    @property
    def feedback_features(self) -> Features:
        """What it can be told, so that a person feels it."""
        return {}

    @property
    def legend(self) -> str:
        """What a person must know to use it, for the screen: which key does what. Empty if it is plain."""
        return ""

    @abstractmethod
    def get_action(self) -> dict[str, Any]:
        """What the person wants, now."""

    def send_feedback(self, feedback: Mapping[str, Any]) -> None:
        """Let the person feel something; most cannot."""
        raise NotImplementedError(f"{self} takes no feedback")


class BusLeader(BusDevice, Teleoperator):
    """A leader arm whose motors are on one bus."""

    @property
    def action_features(self) -> Features:
        """The joints."""
        return self.joint_features

    def get_action(self) -> dict[str, Any]:
        """Where the person holds the joints."""
        return self.positions()
