"""Environments that a folder's ``make_env`` makes. The folder's code runs in workers only."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, nearest, one_line
from yardarm.simulators.gym import GymSimulator
from yardarm.simulators.gym_envs import GymEnv, describe, wrapped

__all__ = ["FolderSimulator", "describe_folder"]

# What LeRobot calls `make_env` with: an environment that is made for one need not know of the other.
ARGUMENTS = {"n_envs": 1, "use_async_envs": False}

Suites = Mapping[str, Mapping[int, Any]]


class FolderSimulator(GymSimulator):
    """One of the environments that a folder makes."""

    def _build(self) -> GymEnv:
        options = self._options
        suites = make_suites(self._task.env.folder, options["file"], options["kwargs"])
        chosen = suites[options["suite"]][options["task_id"]]
        for env in (env for suite in suites.values() for env in suite.values() if env is not chosen):
            env.close()
        return wrapped(chosen)


def describe_folder(
    folder: str,
    file: str,
    kwargs: Mapping[str, Any],
    suites: Sequence[str],
    task_ids: Sequence[int] | None,
    episode_length: int | None,
    success_key: str | None,
) -> list[dict[str, Any]]:
    """Describe the selected environments of a folder."""
    made = make_suites(folder, file, kwargs)
    for suite in suites:
        if suite not in made:
            raise UsageError(f"--env.task={suite}: {file} has no such suite{nearest(suite, made)} {', '.join(made)}")
    answers = []
    for suite, envs in made.items():
        for task_id, env in envs.items():
            if (not suites or suite in suites) and (task_ids is None or task_id in task_ids):
                found = describe(wrapped(env), episode_length, success_key)
                several = sum(len(envs) for envs in made.values()) > 1
                name = f"{suite}-{task_id}" if several else found["task"] or suite
                answers.append({**found, "suite": suite, "task_id": int(task_id), "name": name})
            env.close()
    if not answers:
        known = {task_id for envs in made.values() for task_id in envs}
        raise UsageError(f"--env.task_ids={task_ids} selects nothing; there are {sorted(known)}")
    return answers


def make_suites(folder: str, file: str, kwargs: Mapping[str, Any]) -> Suites:
    """Call the folder's `make_env`; whatever it returns becomes ``{suite: {task_id: environment}}``."""
    make_env = getattr(_load(folder, file), "make_env", None)
    if not callable(make_env):
        raise UsageError(f"{file} of {folder} has no function make_env(n_envs, use_async_envs)")
    accepted = inspect.signature(make_env).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    usual = {name: value for name, value in ARGUMENTS.items() if takes_all or name in accepted}
    made = make_env(**usual, **kwargs)
    if isinstance(made, Mapping):
        return made
    spec = getattr(made, "spec", None)
    return {getattr(spec, "id", None) or Path(folder).name: {0: made}}


def _load(folder: str, file: str) -> Any:
    path = Path(folder) / file
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # its own modules lie beside it
    spec = importlib.util.spec_from_file_location("yardarm_folder_environment", path)
    assert spec is not None, f"{file} is no Python file"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.dont_write_bytecode = True  # nothing is left in the folder, and nothing older than its files is run
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"{file} of {folder} needs '{error.name}', which is not installed for the workers") from error
    except Exception as error:
        raise UsageError(f"{file} of {folder} cannot be imported: {one_line(error)}") from error
    return module
