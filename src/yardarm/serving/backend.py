"""Adapts a policy to `yardarm_serve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yardarm_serve
from yardarm.errors import UsageError
from yardarm.machine import versions
from yardarm.policies import BatchedPolicy, LoadedPolicy, Look, Request, own_name
from yardarm.tasks import ActionSpec, EnvSpec, EpisodeSpec, TaskSpec
from yardarm_serve import BackendError

__all__ = ["PolicyBackend"]


class PolicyBackend:
    """Passes a server's requests to a policy, as episodes of the client's environment."""

    def __init__(self, loaded: LoadedPolicy, task: TaskSpec | None = None) -> None:
        """`task` is assumed for clients that do not name theirs."""
        self._policy = loaded.policy
        self._task = task
        if loaded.traits.lanes:
            raise UsageError("this policy is already behind a server and cannot be served again; serve the original")
        if loaded.traits.episodes_at_once:
            raise UsageError(
                f"{own_name(self._policy)} plays {loaded.traits.episodes_at_once} episode(s) at a time, but a server "
                "may have any number of clients; docs/writing-a-policy.md shows how a policy serves many"
            )
        wants = self._policy.wants
        shapes: dict[str, Any] = {name: wants.shapes.get(name) for name in wants.inputs}
        if task is not None:
            shapes = {name: shape or task.env.features[name].shape for name, shape in shapes.items()}
        images = tuple(name for name, shape in shapes.items() if shape is not None and len(shape) == 3)
        self.contract = yardarm_serve.Contract(
            id=loaded.id,
            inputs={name: None if name in wants.resizable else shape for name, shape in shapes.items()},
            images=images,
            steps=wants.steps,
            action_size=loaded.traits.action_size or (task.env.action.size if task else None),
            instruction=wants.instruction,
            repeatable=not isinstance(self._policy, BatchedPolicy) or self._policy.batching.rows is not None,
            about={**loaded.describe(), **_versions()},
        )

    @property
    def gains_from_batches(self) -> bool:
        """Whether several requests are answered faster together than one by one."""
        return not isinstance(self._policy, BatchedPolicy) or self._policy.batching.rows != 1

    def start(self, episode: yardarm_serve.Episode) -> Any:
        """The policy's state for a new episode."""
        known = self._known(episode)
        try:
            return self._policy.start(known)
        except UsageError as error:
            raise BackendError(str(error)) from error

    def infer(self, requests: Sequence[yardarm_serve.Request]) -> list[yardarm_serve.Answer]:
        """The policy's answers."""
        asked = [
            Request(
                self._known(request.episode), request.state, [Look(look.step, look.values) for look in request.looks]
            )
            for request in requests
        ]
        return [yardarm_serve.Answer(chunk.actions, chunk.looks) for chunk in self._policy.infer(asked)]

    def _known(self, episode: yardarm_serve.Episode) -> EpisodeSpec:
        """The episode as policies expect it; what the client omits is taken from the server's task."""
        if episode.action_size is None and self._task is not None:
            task = replace(self._task, instruction=episode.instruction or self._task.instruction)
            return EpisodeSpec(task, episode.index, episode.seed)
        size = episode.action_size or self.contract.action_size
        if size is None:
            raise BackendError(
                "the policy does not know the size of its actions; start the server with --env.type and --env.task"
            )
        action = ActionSpec(size, _bound(episode.action_low), _bound(episode.action_high))
        task = TaskSpec(
            benchmark=episode.benchmark,
            group=episode.benchmark,
            index=0,
            name=episode.task,
            instruction=episode.instruction,
            max_steps=0,
            fps=0,
            env=EnvSpec.elsewhere(episode.environment, action),
        )
        return EpisodeSpec(task, episode.index, episode.seed)


def _bound(value: float | Sequence[float]) -> float | tuple[float, ...]:
    return tuple(value) if isinstance(value, Sequence) else value


def _versions() -> dict[str, str | None]:
    """Versions that can change the answers, for the clients' manifests."""
    names = ("python", "numpy", *(("torch",) if "torch" in sys.modules else ()))
    installed = versions()
    return {name: installed[name] for name in names}
