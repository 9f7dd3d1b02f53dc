"""Simulators behind one small protocol, and the workers that they live in."""

from yardarm.envs.pool import LocalPool, Pool, Worker
from yardarm.envs.processes import ProcessPool
from yardarm.envs.simulator import Observation, Simulator, Step, fingerprint

__all__ = ["LocalPool", "Observation", "Pool", "ProcessPool", "Simulator", "Step", "Worker", "fingerprint"]
