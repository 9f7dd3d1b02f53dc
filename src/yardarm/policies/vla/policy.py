"""Vision-language-action models as policies."""

from __future__ import annotations

from torch import Tensor

from yardarm.policies.learned.noise import NOISE, PolicyFromNoise
from yardarm.policies.processing import Tensors
from yardarm.policies.vla.flow import Guidance
from yardarm.policies.vla.tokens import without_padding

__all__ = ["VlaPolicy"]


class VlaPolicy(PolicyFromNoise):
    """Looks, reads its instruction, turns noise into a chunk, and plays its beginning."""

    guidance: Guidance | None = None

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """A chunk."""
        return (self.config.chunk_size, self.config.max_action_dim)

    def forward(self, inputs: Tensors) -> Tensor:
        """Turn noise into actions."""
        # In micro-batches of several rows, all texts have one length: an answer must not depend on its neighbours'.
        alone = self.batching.rows in (None, 1)
        return self.network(without_padding(inputs) if alone else inputs, inputs[NOISE], self.guidance)
