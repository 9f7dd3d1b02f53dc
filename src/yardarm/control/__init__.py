"""The loop that controls a robot or its twin: deadlines, what is seen and sent in each turn, and when."""

from yardarm.control.tick import Tick

__all__ = ["Tick"]
