"""A benchmark's tasks, found by asking a worker where only the simulator knows them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.envs.launching import Launchers
from yardarm.envs.messages import Ask
from yardarm.errors import EnvironmentFault, SetupError
from yardarm.tasks import BenchmarkConfig, Home, ProbedBenchmark, TaskSpec

__all__ = ["find_tasks", "installed_for"]


def find_tasks(config: BenchmarkConfig) -> tuple[TaskSpec, ...]:
    """The selected tasks, in order, for workers of the interpreter that the benchmark names."""
    tasks = config.tasks_from(_probe(config)) if isinstance(config, ProbedBenchmark) else config.tasks()
    if not config.python:
        return tasks
    return tuple(replace(task, env=replace(task.env, python=config.python)) for task in tasks)


def installed_for(python: str, modules: Iterable[str] = ()) -> dict[str, str | None]:
    """The versions of packages that another interpreter's workers have, those of `modules` among them."""
    with contextlib.closing(Launchers()) as launchers:
        return launchers.ask(Home(python=python), Ask("yardarm.machine:versions", {"modules": sorted(modules)}))


def _probe(config: ProbedBenchmark) -> Any:
    if not config.python:
        config.check_requirements()
    home = Home(python=config.python)
    question = Ask(config.probe, config.probe_arguments())
    with tempfile.NamedTemporaryFile() as log, contextlib.closing(Launchers(Path(log.name))) as launchers:
        environment = {}
        # Whether it renders with MuJoCo is not known yet; if nothing does, it may draw by other means.
        with contextlib.suppress(SetupError):
            environment["MUJOCO_GL"] = launchers.find_renderer(home)[0]
        try:
            return launchers.ask(home, question, environment=environment)
        except EnvironmentFault as fault:
            said = log.read().decode(errors="replace").strip().splitlines()[-1:]
            reason = f"{fault}; it said: {said[0]}" if said else str(fault)
            raise SetupError(f"--env.type={config.name} cannot be used as asked: {reason}") from fault
