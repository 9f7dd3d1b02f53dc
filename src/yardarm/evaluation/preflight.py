"""Checks policies and options against the tasks before anything slow starts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence

from yardarm.envs import check_installed, interpreter_for
from yardarm.errors import SetupError, UsageError
from yardarm.evaluation.config import RAY, EvalConfig
from yardarm.policies import Policy, Traits
from yardarm.tasks import EnvSpec, TaskSpec, no_instruction

__all__ = ["check_policy_fits", "check_requirements", "naming"]

Shapes = Mapping[str, tuple[int, ...]]


@contextlib.contextmanager
def naming(which: str) -> Iterator[None]:
    """Say which of several policies a mistake is about, and name the flags that it has."""
    try:
        yield
    except UsageError as error:
        kind = SetupError if isinstance(error, SetupError) else UsageError
        text = str(error).replace("--policy.", f"{which}.") if which.startswith("--") else str(error)
        raise kind(f"{which}: {text}") from error


def check_requirements(config: EvalConfig, tasks: Sequence[TaskSpec]) -> None:
    """Refuse now what cannot be filmed, or is not installed."""
    if config.eval.videos and not any(task.env.cameras for task in tasks):
        raise UsageError(f"--eval.videos={config.eval.videos}: none of the tasks draws anything")
    filmed = [task for task in tasks if task.env.cameras and not task.env.replayable]
    if config.runner == RAY and config.eval.videos and filmed:  # frames would have to cross the network
        raise UsageError(
            f"--eval.videos={config.eval.videos}: '{filmed[0].name}' cannot be replayed, and is filmed while it runs, "
            "which --runner=ray does not do; omit one of the two"
        )
    for env in config.envs:
        check_installed(env)
        if not config.eval.use_async_envs and interpreter_for(env):
            raise UsageError(
                f"--eval.use_async_envs=false keeps the simulator in this process, but '{env.name}' is set up in an "
                f"interpreter of its own; omit the flag, or run: {env.install_hint}"
            )


def check_policy_fits(policy: Policy, traits: Traits, tasks: Sequence[TaskSpec]) -> None:
    """Refuse a policy whose inputs or actions are not the tasks', showing both sides and what would help."""
    _check_instructions(policy, tasks)
    for task in {task.env.options_hash: task for task in reversed(tasks)}.values():  # the first of each environment
        if traits.needs_expert and not task.env.expert:
            raise UsageError(
                f"the policy is for tasks with an expert of their own, which '{task.name}' of {task.benchmark} has not"
            )
        _check_names(policy, task)
        _check_shapes(policy, traits, task)
        size = traits.action_size
        if size is not None and size != task.env.action.size:
            raise UsageError(
                f"the policy's actions have {size} numbers, those of '{task.name}' of {task.benchmark} "
                f"{task.env.action.size}: the policy was made for another robot"
            )


def _check_instructions(policy: Policy, tasks: Sequence[TaskSpec]) -> None:
    for task in tasks if policy.wants.instruction else ():
        # A world that says nothing of its tasks has their names in the place of instructions.
        if task.instruction in ("", task.name) and not task.told:
            raise no_instruction(task)


def _check_names(policy: Policy, task: TaskSpec) -> None:
    missing = [name for name in policy.wants.inputs if name not in task.env.features]
    if not missing:
        return
    wanted = {name: tuple(policy.wants.shapes.get(name, ())) for name in policy.wants.inputs}
    offered = {name: feature.shape for name, feature in task.env.features.items()}
    raise UsageError(
        f"the policy reads {_listed(wanted)}, but '{task.name}' of {task.benchmark} offers {_listed(offered)}; "
        f"{_advice(policy, task.env, missing)}"
    )


def _check_shapes(policy: Policy, traits: Traits, task: TaskSpec) -> None:
    for name in policy.wants.inputs:
        wanted, feature = policy.wants.shapes.get(name), task.env.features[name]
        if wanted is None or tuple(wanted) == feature.shape or name in policy.wants.resizable:
            continue
        hint = (
            ", or ".join(filter(None, (_size_flags(task.env, wanted), traits.resize_hint))) if feature.is_image else ""
        )
        raise UsageError(
            f"the policy reads '{name}' of shape {_size(wanted)}, but '{task.name}' of {task.benchmark} offers "
            f"{_size(feature.shape)}; {hint or 'the policy was trained on other data'}"
        )


def _size_flags(env: EnvSpec, wanted: Sequence[int]) -> str:
    """The flags for images of a size, if the environment can render any size."""
    if not {"height", "width"} <= set(env.options):
        return ""
    return f"add --env.observation_height={wanted[0]} --env.observation_width={wanted[1]}, which renders that size"


def _advice(policy: Policy, env: EnvSpec, missing: Sequence[str]) -> str:
    """The renaming that would fit, if there is one: free inputs of the environment, of the same kind and shape."""
    free = [name for name in env.features if name not in policy.wants.inputs]
    own_names = policy.wants.own_names
    renaming = {name: own for name, own in own_names.items() if name != own and name not in missing}
    for name in missing:
        shape = policy.wants.shapes.get(name)
        match = next((other for other in free if shape is not None and _alike(env.features[other].shape, shape)), None)
        if match is None:
            lacking = "" if shape is None else f" of shape {_size(shape)}"
            return f"nothing there can be '{name}'{lacking}: change the policy's inputs, or the --env. flags"
        free.remove(match)
        renaming[match] = own_names.get(name, name)
    useful = {name: own for name, own in renaming.items() if name != own}
    return f"if they are the same, add --rename_map='{json.dumps(useful)}'"


def _alike(offered: tuple[int, ...], wanted: Sequence[int]) -> bool:
    """Images of any size are images."""
    return tuple(offered) == tuple(wanted) or (len(offered) == len(wanted) == 3 and offered[2] == wanted[2])


def _listed(shapes: Shapes) -> str:
    return ", ".join(f"'{name}' {_size(shape)}" if shape else f"'{name}'" for name, shape in shapes.items())


def _size(shape: Sequence[int]) -> str:
    return f"({'×'.join(map(str, shape))})"
