"""What client and server agreed on: what is observed, what is sent of it, and what is played of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from yardarm.errors import ConnectionFault, PolicyFault, UsageError, nearest
from yardarm.policies.protocol import ActionChunk, Look, ObservationSpec
from yardarm.policies.remote.connection import Connection, Reply
from yardarm.policies.remote.declared import odd_actions, odd_observations, wanted_by
from yardarm.policies.remote.mapping import INSTRUCTION, ActionMapping, ObservationMapping
from yardarm.policies.remote.presets import PRESETS
from yardarm.tasks import EpisodeSpec, Feature, TaskSpec

__all__ = ["DirectTranslation", "MappedTranslation", "Translation", "TranslationOptions"]


class Translation(Protocol):
    """Between an environment and a server."""

    wants: ObservationSpec

    def sent(self, values: Mapping[str, np.ndarray], instruction: str) -> Mapping[str, Any]:
        """An observation by the server's names."""

    def chunk(self, reply: Reply) -> ActionChunk:
        """What to play of an answer, and when to look."""

    def to_json(self) -> dict[str, Any]:
        """Plain values that tell it from others."""


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """What the user said of it."""

    observations: Mapping[str, Any] | None = None
    actions: Mapping[str, Any] | None = None
    replan: int = 0
    rename_map: Mapping[str, str] = field(default_factory=dict)
    check: bool = True


class DirectTranslation:
    """With a server that knows Yardarm: it says by LeRobot's names what it reads, and at most they are renamed."""

    def __init__(self, contract: Mapping[str, Any], wishes: TranslationOptions) -> None:
        if wishes.observations is not None or wishes.actions is not None or wishes.replan:
            raise UsageError(
                "the server serves a policy as it is: --policy.observations, --policy.actions and --policy.replan are "
                "for others; --rename_map is for names"
            )
        self._to_server = dict(wishes.rename_map)
        for ours, theirs in self._to_server.items():
            if theirs not in contract["inputs"]:
                raise UsageError(
                    f"rename_map renames '{ours}' to '{theirs}', which the policy does not read; "
                    f"it reads {', '.join(contract['inputs'])}"
                )
        self._to_environment = {theirs: ours for ours, theirs in self._to_server.items()}
        own_names = {self._to_environment.get(name, name): name for name in contract["inputs"]}
        shapes = {name: contract["inputs"][own] for name, own in own_names.items()}
        self.wants = ObservationSpec(
            inputs=tuple(own_names),
            steps=contract["steps"],
            shapes={name: tuple(shape) for name, shape in shapes.items() if shape is not None},
            own_names=own_names,
            instruction=bool(contract.get("instruction")),  # servers of version 0.1 do not say
        )

    @classmethod
    def agree(
        cls, connection: Connection, contract: Mapping[str, Any], tasks: Sequence[TaskSpec], wishes: TranslationOptions
    ) -> DirectTranslation:
        """Take the server at its word, and try it where the environment offers what it reads."""
        as_it_is = cls(contract, wishes)
        for task in tasks[:1]:
            wants, features = as_it_is.wants, task.env.features
            fits = all(
                name in features and wants.shapes.get(name, features[name].shape) == features[name].shape
                for name in wants.inputs
            )
            if fits and contract["action_size"] in (None, task.env.action.size):
                _try(connection, as_it_is, task)
        return as_it_is

    def sent(self, values: Mapping[str, np.ndarray], instruction: str) -> Mapping[str, Any]:
        """The values as they are."""
        return {self._to_server.get(name, name): np.asarray(value) for name, value in values.items()}

    def chunk(self, reply: Reply) -> ActionChunk:
        """The whole answer, with the looks that the policy wants."""
        looks = {self._to_environment.get(name, name): offsets for name, offsets in reply.looks.items()}
        return ActionChunk(reply.actions, looks)

    def to_json(self) -> dict[str, Any]:
        """The renaming."""
        return {"rename_map": self._to_server}


class MappedTranslation:
    """With any other server: observations are built as it expects them, and its actions converted."""

    def __init__(self, observations: ObservationMapping, actions: ActionMapping | None, replan: int) -> None:
        self._observations = observations
        self._actions = actions
        self._replan = replan
        self.wants = ObservationSpec(observations.inputs)

    @classmethod
    def agree(
        cls, connection: Connection, protocol: str, tasks: Sequence[TaskSpec], wishes: TranslationOptions
    ) -> MappedTranslation:
        """Settle what the server is sent, and hold what it declares, and a first answer, against the environment."""
        if wishes.rename_map:
            raise UsageError("--rename_map is for servers that know Yardarm; --policy.observations names what is sent")
        observations, replan = wishes.observations, wishes.replan
        if observations is None:
            preset = _preset(protocol, tasks)
            observations, replan = preset.observations, replan or preset.replan
            if protocol == "vla-eval":
                observations = wanted_by(connection.declared, observations)
        actions = None if wishes.actions is None else ActionMapping.parse(wishes.actions)
        mapped = cls(ObservationMapping(observations), actions, replan)
        for task in {task.env.options_hash: task for task in reversed(tasks)}.values():
            mapped._check_inputs(task)
            if wishes.check:
                _check_conventions(connection.declared, task, wishes, observations)
        for task in tasks[:1]:
            length = _try(connection, mapped, task)
            if replan > length:
                raise UsageError(
                    f"the server answers with {length} action(s) only, of which {replan} were to be played: "
                    f"give --policy.replan={length}"
                )
        return mapped

    def sent(self, values: Mapping[str, np.ndarray], instruction: str) -> Mapping[str, Any]:
        """The observation that the server expects."""
        return self._observations.apply(values, instruction)

    def chunk(self, reply: Reply) -> ActionChunk:
        """As many actions as are played before the next look, in the environment's form."""
        actions = reply.actions if self._actions is None else self._actions.apply(reply.actions)
        return ActionChunk(actions[: self._replan] if self._replan else actions)

    def to_json(self) -> dict[str, Any]:
        """All that changes what is sent and played."""
        actions = None if self._actions is None else repr(self._actions)
        return {"observations": self._observations.data, "actions": actions, "replan": self._replan}

    def _check_inputs(self, task: TaskSpec) -> None:
        offered = [*task.env.features, INSTRUCTION]
        for name in self.wants.inputs:
            if name not in task.env.features:
                raise UsageError(
                    f"--policy.observations reads '{name}'{nearest(name, offered)} "
                    f"'{task.name}' of {task.benchmark} offers {', '.join(offered)}"
                )
        self._observations.check(task.env.features)


def _try(connection: Connection, translation: Translation, task: TaskSpec) -> int:
    """One made-up look tells what no server declares: the size of its actions, and how many it answers with."""
    values = {name: _made_up(task.env.features[name]) for name in translation.wants.inputs}
    try:
        connection.begin(EpisodeSpec(task, 0, 0))
        reply = connection.ask([Look(0, translation.sent(values, task.instruction))], task.instruction)
        connection.end(None)
    except (ConnectionFault, PolicyFault) as fault:
        lines = str(fault).strip().splitlines()
        said = lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1]}"
        raise UsageError(f"{said} (when it was shown a made-up observation)") from fault
    actions, size = translation.chunk(reply).actions, task.env.action.size
    if actions.shape[1] != size:
        hint = f"""; if the first are meant, add --policy.actions='{{"take": "0:{size}"}}'"""
        raise UsageError(
            f"the server answers with actions of {actions.shape[1]} numbers, '{task.name}' of {task.benchmark} takes "
            f"{size}{hint if actions.shape[1] > size and isinstance(translation, MappedTranslation) else ''}"
        )
    return len(reply.actions)


def _check_conventions(
    declared: Mapping[str, Any], task: TaskSpec, wishes: TranslationOptions, observations: Mapping[str, Any]
) -> None:
    """Refuse what contradicts the environment; what the user converts is the user's."""
    odd = {
        "--policy.actions": [] if wishes.actions is not None else list(odd_actions(declared, task)),
        "--policy.observations": []
        if wishes.observations is not None
        else list(odd_observations(declared, task, observations)),
    }
    for flag, found in odd.items():
        if found:
            raise UsageError(
                f"the server was made for another convention: {'; '.join(found)}. Convert with {flag}, "
                "or skip this check with --policy.check=false"
            )


def _preset(protocol: str, tasks: Sequence[TaskSpec]) -> Any:
    benchmarks = sorted({task.benchmark for task in tasks})
    if len(benchmarks) == 1 and (protocol, benchmarks[0]) in PRESETS:
        return PRESETS[protocol, benchmarks[0]]
    raise UsageError(
        f"there is no preset for {' and '.join(benchmarks) or 'no tasks'} with {protocol}: say with "
        "--policy.observations what the server is to be sent; docs/remote.md shows how"
    )


def _made_up(feature: Feature) -> np.ndarray:
    return np.full(feature.shape, 127 if feature.is_image else 0, dtype=feature.dtype)
