"""A stand-in with LeRobot's interface: the same calls, small policies."""

__version__ = "0.6.1"
