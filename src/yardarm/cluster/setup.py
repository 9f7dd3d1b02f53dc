"""What an actor needs to work like the process that started it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yardarm.envs import installed_for
from yardarm.machine import versions
from yardarm.own_modules import allowed_modules, take_over_modules
from yardarm.tasks import TaskSpec

__all__ = ["Setup"]

# Packages that only draw, store or upload: they cannot change an episode's course, and may differ.
NO_MATTER = ("accelerate", "peft", "huggingface_hub", "av", "pyarrow", "draccus", "rich", "wandb")


@dataclass(frozen=True, slots=True)
class Setup:
    """Where the command was given, with what, and what is to be played."""

    tasks: tuple[TaskSpec, ...]
    timeout_s: float
    renders: bool
    policies_at_once: int = 0
    """How many keep their weights in one process; 0: the usual number."""
    folder: str = field(default_factory=os.getcwd)
    own_modules: Mapping[str, Any] | None = field(default_factory=allowed_modules)
    threads: str | None = field(default_factory=lambda: os.environ.get("OMP_NUM_THREADS"))
    versions: Mapping[str, str | None] = field(default_factory=lambda: relevant(versions()))
    others: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """What other interpreters have, by their paths."""

    def apply(self) -> None:
        """Make this process like the one that made the setup, as far as the machine has the same folders."""
        with contextlib.suppress(OSError):  # then relative paths fail later, with their own messages
            os.chdir(self.folder)
        take_over_modules(self.own_modules)
        if self.threads is None:  # Ray has set it, to the number of cores that it reserves for an actor
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = self.threads

    def differences(self) -> str:
        """What is installed here in another version, in words; empty if nothing differs."""
        found = _differing(relevant(versions()), self.versions)
        for python, wanted in self.others.items():
            modules = {module for task in self.tasks if task.env.python == python for module in task.env.modules}
            found += [f"{python}: {text}" for text in _differing(installed_for(python, modules), wanted)]
        return ", ".join(found)


def relevant(installed: Mapping[str, str | None]) -> dict[str, str | None]:
    """The versions that matter."""
    return {name: found for name, found in installed.items() if name not in NO_MATTER}


def _differing(here: Mapping[str, str | None], there: Mapping[str, str | None]) -> list[str]:
    return [
        f"{name} {here.get(name) or 'is missing'}, not {version or 'missing'}"
        for name, version in there.items()
        if here.get(name) != version
    ]
