"""A policy as LeRobot's are written: `select_action(batch)` for one step, and `reset()` before an episode.

It keeps the state of its episode in itself, so it plays one episode at a time.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from yardarm.errors import PolicyFault, UsageError
from yardarm.policies.networks.tensors import as_tensor, image_tensor
from yardarm.policies.plain.generators import EpisodeGenerators
from yardarm.policies.plain.modules import evaluation_mode
from yardarm.policies.protocol import TASK, ActionChunk, Look, ObservationSpec, Request
from yardarm.policies.traits import Traits, own_name
from yardarm.tasks import EpisodeSpec, Feature, TaskSpec

__all__ = ["SelectActionPolicy"]

log = logging.getLogger(__name__)

COST = "one episode at a time, with an observation for every step"
ADVICE = "implement `wants`, `start` and `infer` to play many at once: docs/writing-a-policy.md"


@dataclass(eq=False)
class _Episode:
    """What belongs to an episode outside of the policy."""

    generators: EpisodeGenerators
    over: bool = False


class SelectActionPolicy:
    """Gives a LeRobot-style policy batches of one row, as LeRobot does: float32 tensors on its own device.

    Images are 0…1 with channels first, and ``task`` is a list with the instruction. It reads `inputs`, or what its
    configuration declares as `input_features`, or else everything that the tasks offer. No processing is applied:
    what a checkpoint's processors do, such as normalising, the policy does itself.
    """

    place: Literal["host"] = "host"
    traits = Traits(episodes_at_once=1)

    def __init__(self, original: Any, inputs: Sequence[str] = ()) -> None:
        self.adapted_policy = original
        self.name = own_name(original)
        self._declared = dict.fromkeys(inputs) or _declared(original)
        self.wants = ObservationSpec(tuple(self._declared))
        self._features: Mapping[str, Feature] = {}
        self._current: _Episode | None = None
        log.warning("yardarm: %s has select_action: it plays %s; %s", self.name, COST, ADVICE)

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Learn what the tasks offer, and which of it is pictures."""
        if not tasks:
            return
        self._features = tasks[0].env.features
        # A policy is free to resize images, but not to guess which numbers of a state are which.
        shapes = {
            name: shape
            for name, shape in self._declared.items()
            if shape is not None and name in self._features and not self._features[name].is_image
        }
        self.wants = ObservationSpec(tuple(self._declared or self._features), shapes=shapes)

    def start(self, episode: EpisodeSpec) -> _Episode:
        """The episode's own randomness; the policy is reset when it is first asked."""
        return _Episode(EpisodeGenerators(episode.seed))

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """One action for each request."""
        return [ActionChunk(self._act(request)) for request in requests]

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {"name": self.name, "one_episode_at_a_time": True}

    def _act(self, request: Request) -> np.ndarray:
        state: _Episode = request.state
        if state.over:
            raise PolicyFault(f"{self.name} keeps one episode in itself, and was asked for another one's next action")
        with state.generators.in_use(), torch.no_grad(), _in_evaluation_mode(self.adapted_policy):
            if state is not self._current:
                if self._current is not None:
                    self._current.over = True
                self._current = state
                self.adapted_policy.reset()
            answer = self.adapted_policy.select_action(self._batch(request.episode, request.looks[-1]))
        return self._action(answer)

    def _batch(self, episode: EpisodeSpec, look: Look) -> dict[str, Any]:
        device = _device_of(self.adapted_policy)
        batch: dict[str, Any] = {}
        for name in self.wants.inputs:
            row = np.array(look.values[name])[None]  # a copy: the memory is written again
            is_image = self._features[name].is_image
            batch[name] = image_tensor(row, device) if is_image else as_tensor(row, device).float()
        return {**batch, TASK: [episode.task.instruction]}

    def _action(self, answer: Any) -> np.ndarray:
        if isinstance(answer, torch.Tensor):
            answer = answer.float().numpy(force=True)
        if not isinstance(answer, np.ndarray) or answer.ndim not in (1, 2) or (answer.ndim == 2 and len(answer) != 1):
            shape = f" of shape {tuple(answer.shape)}" if hasattr(answer, "shape") else ""
            raise PolicyFault(
                f"{self.name}.select_action answered with {type(answer).__name__}{shape}; it must be a tensor or an "
                "array (1, action size)"
            )
        return answer.reshape(1, -1)


def _declared(policy: Any) -> dict[str, tuple[int, ...] | None]:
    """The inputs that a policy's configuration declares, as LeRobot's do, with their shapes, if it knows them."""
    config = getattr(policy, "config", None)
    features = getattr(config, "input_features", None) or getattr(config, "image_features", None) or {}
    if not isinstance(features, Mapping):
        raise UsageError(
            f"config.input_features of {type(policy).__name__} must map names to features, not {features!r}"
        )
    shapes = {name: getattr(feature, "shape", None) for name, feature in features.items()}
    return {str(name): tuple(shape) if shape is not None else None for name, shape in shapes.items()}


def _device_of(policy: Any) -> torch.device:
    if isinstance(policy, torch.nn.Module) and (some := next(policy.parameters(), None)) is not None:
        return some.device
    return torch.device(getattr(getattr(policy, "config", None), "device", None) or "cpu")


def _in_evaluation_mode(policy: Any) -> contextlib.AbstractContextManager[None]:
    return evaluation_mode(policy) if isinstance(policy, torch.nn.Module) else contextlib.nullcontext()
