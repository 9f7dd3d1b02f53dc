"""Finds a benchmark's tasks, by asking a worker if only the simulator knows them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.envs.launching import Launchers
from yardarm.envs.messages import Ask
from yardarm.envs.world_venvs import Benchmark, interpreter_for
from yardarm.errors import EnvironmentFault, SetupError
from yardarm.tasks import BenchmarkConfig, Home, ProbedBenchmark, TaskSpec

__all__ = ["check_installed", "find_tasks", "for_workers_of", "installed_for"]


def find_tasks(config: BenchmarkConfig) -> tuple[TaskSpec, ...]:
    """The selected tasks, in order, for workers of the benchmark's interpreter."""
    python = interpreter_for(config)
    tasks = config.tasks_from(_probe(config, python)) if isinstance(config, ProbedBenchmark) else config.tasks()
    return for_workers_of(python, config.told(tasks))


def for_workers_of(python: str, tasks: Iterable[TaskSpec]) -> tuple[TaskSpec, ...]:
    """The same tasks, to be played by workers of an interpreter; "" is this one."""
    return tuple(replace(task, env=replace(task.env, python=python)) for task in tasks)


def check_installed(benchmark: Benchmark) -> None:
    """Raise `SetupError` if packages are missing here and no other interpreter was set up; imports nothing."""
    if not interpreter_for(benchmark):  # another interpreter is checked when its workers are started
        benchmark.check_requirements()


def installed_for(python: str, modules: Iterable[str] = ()) -> dict[str, str | None]:
    """The package versions of another interpreter, including the packages of `modules`."""
    with contextlib.closing(Launchers()) as launchers:
        return launchers.ask(Home(python=python), Ask("yardarm.machine:versions", {"modules": sorted(modules)}))


def _probe(config: ProbedBenchmark, python: str) -> Any:
    check_installed(config)
    home = Home(python=python)
    question = Ask(config.probe, config.probe_arguments())
    with tempfile.NamedTemporaryFile() as log, contextlib.closing(Launchers(Path(log.name))) as launchers:
        environment = {}
        # Whether it renders with MuJoCo is not known yet; it may also draw without OpenGL.
        with contextlib.suppress(SetupError):
            environment["MUJOCO_GL"] = launchers.find_renderer(home)[0]
        try:
            return launchers.ask(home, question, environment=environment)
        except EnvironmentFault as fault:
            said = log.read().decode(errors="replace").strip().splitlines()[-1:]
            reason = f"{fault}; its last output: {said[0]}" if said else str(fault)
            raise SetupError(f"--env.type={config.name} cannot be used with these options: {reason}") from fault
