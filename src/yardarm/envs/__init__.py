"""Simulators behind one small protocol, and the workers that they live in.

`yardarm.envs.messages`, what is said to a worker and by it, is public too.
"""

from yardarm.envs.names import environment_names, policy_names
from yardarm.envs.pool import LocalPool, Pool, Worker
from yardarm.envs.probing import find_tasks, installed_for
from yardarm.envs.processes import ProcessPool
from yardarm.envs.rendering import rendering_off
from yardarm.envs.shared_memory import MemoryLayout
from yardarm.envs.simulator import Observation, Simulator, Step, fingerprint

__all__ = [
    "LocalPool",
    "MemoryLayout",
    "Observation",
    "Pool",
    "ProcessPool",
    "Simulator",
    "Step",
    "Worker",
    "environment_names",
    "find_tasks",
    "fingerprint",
    "installed_for",
    "policy_names",
    "rendering_off",
]
