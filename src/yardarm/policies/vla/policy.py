"""Vision-language-action models as policies."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from yardarm.errors import UsageError
from yardarm.policies.learned.config import PolicyFeature
from yardarm.policies.learned.noise import NOISE, PolicyFromNoise
from yardarm.policies.processing import Tensors, Tokenize
from yardarm.policies.vla.flow import Guidance
from yardarm.policies.vla.tokens import without_padding
from yardarm.tasks import TaskSpec

if TYPE_CHECKING:
    from yardarm.policies.learned.architecture import Architecture

__all__ = ["DELAY", "LEFT_OVER", "VlaPolicy"]

logger = logging.getLogger(__name__)

# For real-time chunking: normalised actions (batch, step, action) that were planned and not yet played, and how many
# of them each row will have played when its new chunk arrives.
LEFT_OVER = "left_over"
DELAY = "inference_delay"


class VlaPolicy(PolicyFromNoise):
    """Looks, reads its instruction, turns noise into a chunk, and plays its beginning."""

    def __init__(self, architecture: Architecture, config: Any, network: Any, *parts: Any) -> None:
        super().__init__(architecture, config, network, *parts)
        tokenize = self.preprocessor.step(Tokenize)
        if tokenize is not None and tokenize.highest_token >= network.vocabulary:
            raise UsageError(
                f"the tokenizer {tokenize.tokenizer_name} has tokens up to {tokenize.highest_token}, but the language "
                f"model knows {network.vocabulary:,}: they do not belong together"
            )

    @property
    def fits_images(self) -> bool:  # type: ignore[override]
        """Whether the network brings images of any size to its own."""
        return self.config.resizes_images

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """A chunk."""
        return (self.config.chunk_size, self.config.max_action_dim)

    def placed(self, network: Any) -> Any:
        """Where this policy computes; the network knows which of its parts can do with shorter numbers."""
        network = network.to(self.placement.device).eval()
        network.narrow(self.placement.dtype)
        return network

    def _cast(self, value: Tensor) -> Tensor:
        """Noise and images are narrowed by the network, where it must be."""
        return value

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuse tasks that the policy cannot do; do without cameras that they do not have."""
        offers = {tuple(name for name in self.all_cameras if name in task.env.features): task for task in tasks}
        if len(offers) > 1:  # what a policy sees of a task must not depend on the others
            listed = "; ".join(f"'{task.name}' offers {', '.join(there) or 'none'}" for there, task in offers.items())
            raise UsageError(f"these tasks have different cameras, so evaluate them one after the other: {listed}")
        self.see_with(self.all_cameras)
        self.see_what_is_there(next(iter(offers), self.all_cameras))
        super().prepare(tasks)

    def see_what_is_there(self, offered: Container[str]) -> None:
        """Do without cameras that are missing, as LeRobot does, as long as there is one."""
        there = tuple(name for name in self.all_cameras if name in offered)
        if not there or there == self.cameras:
            return
        if absent := [name for name in self.all_cameras if name not in there]:
            logger.warning("the policy does without %s: there is no such camera here", " and ".join(absent))
        self.see_with(there)

    def adapt_to(self, features: Mapping[str, PolicyFeature]) -> None:
        """Take over other shapes: vectors are padded, and images resized, so that any will do."""
        config = self.config
        for own in (config.input_features, config.output_features):
            own |= {
                name: replace(feature, shape=features[name].shape) for name, feature in own.items() if name in features
            }
        config.check()
        both = {**config.input_features, **config.output_features}
        self.preprocessor = self.preprocessor.for_features(both)
        self.postprocessor = self.postprocessor.for_features(both)
        self.observed_features = config.read_features
        self.see_with(self.cameras)

    def forward(self, inputs: Tensors) -> Tensor:
        """Turn noise into actions."""
        # In micro-batches of several rows, all texts have one length: an answer must not depend on its neighbours'.
        alone = self.batching.rows in (None, 1)
        return self.network(without_padding(inputs) if alone else inputs, inputs[NOISE], self._guidance(inputs))

    def _guidance(self, inputs: Tensors) -> Guidance | None:
        """For rows that say what is left of their last chunks, unless the configuration turns it off."""
        options = self.config.rtc
        if LEFT_OVER not in inputs or not options.enabled:
            return None
        left_over = inputs[LEFT_OVER].float()
        if left_over.ndim != 3 or left_over.shape[2] > self.config.max_action_dim:
            shape = f"(batch, step, at most {self.config.max_action_dim})"
            raise UsageError(f"predict: '{LEFT_OVER}' must have the shape {shape}, not {tuple(left_over.shape)}")
        delay = inputs.get(DELAY, torch.zeros(len(left_over), dtype=torch.long, device=left_over.device))
        if delay.shape != left_over.shape[:1]:
            raise UsageError(f"predict: '{DELAY}' must have one number for each row, not {tuple(delay.shape)}")
        return Guidance(
            left_over,
            delay,
            options.execution_horizon,
            options.prefix_attention_schedule.lower(),
            options.max_guidance_weight,
        )
