"""Policies that live elsewhere: behind a socket, or in LeRobot's own environment."""

from yardarm.policies.remote.lerobot import LeRobotPolicy
from yardarm.policies.remote.policy import RemotePolicy

__all__ = ["LeRobotPolicy", "RemotePolicy"]
