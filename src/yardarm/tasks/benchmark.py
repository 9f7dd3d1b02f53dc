"""The base class of every benchmark's configuration, and the registry of benchmarks.

A benchmark *is* its configuration class: the ``--env.`` flags, and the method that turns them into tasks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from yardarm.config import NamedCode, fit_fields, fitted, option
from yardarm.errors import SetupError, UsageError, nearest
from yardarm.registry import Registry
from yardarm.tasks.spec import TaskSpec

__all__ = ["BENCHMARKS", "BenchmarkConfig", "ProbedBenchmark"]

BENCHMARKS = Registry(
    "benchmark",
    "yardarm.benchmarks",
    {
        "aloha": "yardarm.tasks.aloha:AlohaConfig",
        "gym": "yardarm.tasks.gym:GymConfig",
        "hub": "yardarm.tasks.hub:HubConfig",
        "libero": "yardarm.tasks.libero:LiberoConfig",
        "metaworld": "yardarm.tasks.metaworld:MetaworldConfig",
        "pusht": "yardarm.tasks.pusht:PushtConfig",
        "so101_twin": "yardarm.tasks.so101_twin:So101TwinConfig",
    },
)

# The most names that are listed in a message.
FEW = 5


@dataclass
class BenchmarkConfig:
    """Flags that every benchmark has. Subclasses are plain dataclasses with LeRobot's defaults."""

    name: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]] = ()
    """Packages, with versions, that the simulator needs."""
    install_hint: ClassVar[str] = ""
    """How to install them for this interpreter."""
    about: ClassVar[str] = ""
    """A short description for ``yardarm tasks``."""

    task: str = option("", "tasks and groups, separated by commas")
    max_parallel_tasks: int = option(0, "the most different tasks to run at once; 0: no limit")
    python: str = option("", "another Python interpreter for the workers, e.g. other_venv/bin/python")
    instruction: dict[str, str] | str | None = option(
        None, 'what policies are told instead of a task\'s own words: a text, or {"task": "text", …}; may be empty'
    )

    def __post_init__(self) -> None:
        fit_fields(self, "--env.")
        if self.max_parallel_tasks < 0:
            raise UsageError(f"--env.max_parallel_tasks must not be negative, got {self.max_parallel_tasks}")
        if self.python:
            # Not resolved: a virtual environment's interpreter is a link, and is recognised by its path.
            self.python = str(Path(self.python).expanduser().absolute())
        if isinstance(self.instruction, str) and self.instruction.lstrip().startswith("{"):
            from yardarm.config import FlagText  # here, because it needs a parser, which workers may not have

            self.instruction = fitted("--env.instruction", dict[str, str], FlagText(self.instruction).value())

    def tasks(self) -> tuple[TaskSpec, ...]:
        """The selected tasks, in order; a task selected twice is listed twice."""
        raise NotImplementedError

    def told(self, tasks: Sequence[TaskSpec]) -> tuple[TaskSpec, ...]:
        """The tasks with the instructions that the user gives them."""
        given = self.instruction
        if isinstance(given, str):
            return tuple(replace(task, instruction=given, told=True) for task in tasks)
        names = [task.name for task in tasks]
        for name in given or {}:
            if name not in names:
                few = ", ".join(dict.fromkeys(names[:FEW])) + (", …" if len(names) > FEW else "")
                raise UsageError(
                    f"--env.instruction: '{name}' is none of the selected tasks{nearest(name, names)} they are {few}"
                )
        return tuple(
            replace(task, instruction=given[task.name], told=True) if given and task.name in given else task
            for task in tasks
        )

    def selected(self, known: Collection[str]) -> list[str]:
        """The names in ``--env.task``, checked and without duplicates."""
        names = list(dict.fromkeys(word.strip() for word in self.task.split(",") if word.strip()))
        if not names:
            raise UsageError(f"--env.task is empty; give tasks, e.g. --env.task={next(iter(known))}")
        for name in names:
            if name not in known:
                few = f"use one of {', '.join(known)}"
                listed = few if len(known) <= FEW else f"`yardarm tasks {self.name}` lists all"
                raise UsageError(f"unknown task '{name}'{nearest(name, known)} {listed}")
        return names

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """All tasks of all groups, for ``yardarm tasks``."""
        raise NotImplementedError

    def foreign_code(self) -> str | None:
        """The foreign code that workers would run: the user must agree to it even if they typed its name."""
        return None

    def named_code(self) -> list[NamedCode]:
        """The code that options name: the user must agree to it if only a file names it."""
        return [NamedCode("python", f"the interpreter {self.python}")] if self.python else []

    def notes(self) -> Sequence[str]:
        """Warnings about given flags that have no effect, or not the expected one."""
        return ()

    @classmethod
    def is_installed(cls) -> bool:
        """Whether all packages are installed, in any version; imports nothing."""
        try:
            return all(version(re.split(r"[^\w.-]", text, maxsplit=1)[0]) for text in cls.requirements)
        except PackageNotFoundError:
            return False

    @classmethod
    def how_to_install(cls) -> str:
        """The command that installs the packages for the workers, and the one for this interpreter."""
        return f"yardarm setup {cls.name}" + (f" (or: {cls.install_hint})" if cls.install_hint else "")

    @classmethod
    def check_requirements(cls) -> None:
        """Raise `SetupError` if a package is missing or has the wrong version; imports nothing."""
        # Here, not at the top: workers import this module too, and need only numpy.
        from packaging.requirements import Requirement

        for text in cls.requirements:
            requirement = Requirement(text)
            try:
                found = version(requirement.name)
            except PackageNotFoundError:
                raise SetupError(
                    f"benchmark '{cls.name}' needs {requirement.name}, which is not installed; "
                    f"run: {cls.how_to_install()}"
                ) from None
            if not requirement.specifier.contains(found, prereleases=True):
                raise SetupError(
                    f"benchmark '{cls.name}' needs {text}, but {requirement.name} {found} is installed; "
                    f"run: {cls.how_to_install()}"
                )


class ProbedBenchmark(BenchmarkConfig):
    """A benchmark whose tasks are known only to its simulator: a worker is asked for them."""

    probe: ClassVar[str]
    """``"module:function"``, called in a worker."""

    def probe_arguments(self) -> dict[str, Any]:
        """The function's arguments, as plain values."""
        raise NotImplementedError

    def tasks_from(self, answer: Any) -> tuple[TaskSpec, ...]:
        """The selected tasks, made from the function's answer."""
        raise NotImplementedError

    def tasks(self) -> tuple[TaskSpec, ...]:
        """Not available without a worker: see `yardarm.envs.find_tasks`."""
        raise AssertionError(f"the tasks of '{self.name}' are found by asking a worker")

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """Empty: there is no list of all possible tasks."""
        return ()
