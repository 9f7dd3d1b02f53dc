"""LIBERO's simulator."""

from yardarm.simulators.libero.simulator import LiberoSimulator

__all__ = ["LiberoSimulator"]
