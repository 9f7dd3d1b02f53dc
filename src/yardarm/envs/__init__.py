"""The protocol that every simulator follows, and the worker processes that run simulators.

`yardarm.envs.messages`, the messages to and from a worker, is public too.
"""

from yardarm.envs.names import environment_names, policy_names
from yardarm.envs.pool import LocalPool, Pool, Worker
from yardarm.envs.probing import check_installed, find_tasks, for_workers_of, installed_for
from yardarm.envs.processes import ProcessPool
from yardarm.envs.rendering import rendering_off
from yardarm.envs.selection import select_tasks
from yardarm.envs.setting_up import remove_world, set_up_world
from yardarm.envs.shared_memory import MemoryLayout
from yardarm.envs.simulator import Observation, Simulator, Step, fingerprint
from yardarm.envs.task_workers import TaskWorkers, looks_of
from yardarm.envs.trial import open_trial
from yardarm.envs.world_venvs import WorldVenv, interpreter_for

__all__ = [
    "LocalPool",
    "MemoryLayout",
    "Observation",
    "Pool",
    "ProcessPool",
    "Simulator",
    "Step",
    "TaskWorkers",
    "Worker",
    "WorldVenv",
    "check_installed",
    "environment_names",
    "find_tasks",
    "fingerprint",
    "for_workers_of",
    "installed_for",
    "interpreter_for",
    "looks_of",
    "open_trial",
    "policy_names",
    "remove_world",
    "rendering_off",
    "select_tasks",
    "set_up_world",
]
