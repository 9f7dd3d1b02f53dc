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

    fits_images = True

    def __init__(self, architecture: Architecture, config: Any, network: Any, *parts: Any) -> None:
        super().__init__(architecture, config, network, *parts)
        tokenize = self.preprocessor.step(Tokenize)
        if tokenize is not None and tokenize.highest_token >= network.vocabulary:
            raise UsageError(
                f"the tokenizer {tokenize.tokenizer_name} has tokens up to {tokenize.highest_token}, but the language "
                f"model knows {network.vocabulary:,}: they do not belong together"
            )

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """A chunk."""
        return (self.config.chunk_size, self.config.max_action_dim)

    def placed(self, network: Any) -> Any:
        """Where and how this policy computes; a vision tower's only convolution is slower with channels last."""
        return network.to(self.placement.device, self.placement.dtype).eval()

    def prepare(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuse tasks that the policy cannot do; do without cameras that they do not have."""
        self.see_what_is_there([name for name in self.all_cameras if all(name in task.env.features for task in tasks)])
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
        if LEFT_OVER not in inputs:
            return None
        left_over, options = inputs[LEFT_OVER].float(), self.config.rtc
        delay = inputs.get(DELAY, torch.zeros(len(left_over), dtype=torch.long, device=left_over.device))
        return Guidance(
            left_over,
            delay,
            options.execution_horizon,
            options.prefix_attention_schedule.lower(),
            options.max_guidance_weight,
        )
