"""Environments made by a folder's ``make_env``. Its code runs in workers, or in the main process for debugging."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.errors import EnvironmentFault, UsageError, nearest, one_line
from yardarm.hub import hash_of_files
from yardarm.simulators.gym import GymSimulator
from yardarm.simulators.gym_envs import GymEnv, describe, wrapped

__all__ = ["FolderSimulator", "describe_folder"]

# LeRobot calls `make_env` with these; a function that lacks a parameter is called without it.
ARGUMENTS = {"n_envs": 1, "use_async_envs": False}
MODULE = "yardarm_folder_environment"

Suites = Mapping[str, Mapping[int, Any]]


class FolderSimulator(GymSimulator):
    """One of the environments that a folder makes."""

    def _build(self) -> GymEnv:
        options, folder = self._options, self._task.env.folder
        if hash_of_files(Path(folder), "*.py") != options["code"]:
            raise EnvironmentFault(f"the code in {folder} was changed during the run; start a new run with it")
        suites = make_suites(folder, options["file"], options["kwargs"], options["label"])
        chosen = suites[options["suite"]][options["task_id"]]
        for env in (env for suite in suites.values() for env in suite.values() if env is not chosen):
            env.close()
        return wrapped(chosen)


def describe_folder(
    source: Mapping[str, Any], suites: Sequence[str], task_ids: Sequence[int] | None, wanted: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Describe the selected environments of a folder."""
    made = make_suites(**source)
    for suite in suites:
        if suite not in made:
            known = f"{nearest(suite, made)} it has {', '.join(made)}"
            raise UsageError(f"--env.task={suite}: {source['file']} has no such suite{known}")
    several = sum(len(envs) for envs in made.values()) > 1
    answers = []
    for suite, envs in made.items():
        for task_id, env in envs.items():
            if not isinstance(task_id, int):
                raise UsageError(
                    f"{source['file']} gives a task of suite '{suite}' the id {task_id!r}; it must be a number"
                )
            if (not suites or suite in suites) and (task_ids is None or task_id in task_ids):
                found = describe(wrapped(env), **wanted)
                name = f"{suite}-{task_id}" if several else found["task"] or suite
                answers.append({**found, "suite": suite, "task_id": task_id, "name": name})
            env.close()
    if not answers:
        known_ids = {task_id for envs in made.values() for task_id in envs}
        raise UsageError(f"--env.task_ids={task_ids} selects nothing; the ids are {sorted(known_ids)}")
    return answers


def make_suites(folder: str, file: str, kwargs: Mapping[str, Any], label: str) -> Suites:
    """Call the folder's `make_env`, and bring the result into the form ``{suite: {task_id: environment}}``."""
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
    return {getattr(spec, "id", None) or label: {0: made}}


def _load(folder: str, file: str) -> Any:
    """Import the file; it can import modules of its own folder, but not of the previous one."""
    path = Path(folder) / file
    _forget_other_folders()
    sys.path.insert(0, str(path.parent))  # for modules in the same folder
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None, f"{file} is not a Python file"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # leave nothing in the folder
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{file} of {folder} needs '{error.name}', which is not installed for the workers; install it"
        ) from error
    except Exception as error:
        raise UsageError(f"{file} of {folder} cannot be imported: {one_line(error)}") from error
    finally:
        sys.dont_write_bytecode = writes_bytecode
    return module


def _forget_other_folders() -> None:
    """Remove the previous folder from the search path, and its modules: two folders may use the same names."""
    last = sys.modules.pop(MODULE, None)
    if last is None or not last.__file__:
        return
    folder = Path(last.__file__).parent
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    for name, module in list(sys.modules.items()):
        if (file := getattr(module, "__file__", None)) and Path(file).is_relative_to(folder):
            del sys.modules[name]
