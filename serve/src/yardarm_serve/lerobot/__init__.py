"""Runs LeRobot's policies with LeRobot's own classes and processors. Only this folder imports torch and lerobot."""

from yardarm_serve.lerobot.backend import LeRobotBackend

__all__ = ["LeRobotBackend"]
