"""PaliGemma with an expert beside it: what the networks of π0 and π0.5 share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.policies.paligemma.backbone import PaliGemma
from yardarm.policies.paligemma.config import PaliGemmaConfig
from yardarm.policies.vla.flow import Guidance, Velocity, integrate
from yardarm.policies.vla.images import fit_between_bars
from yardarm.policies.vla.layers import Memory
from yardarm.policies.vla.prefix import Prefix
from yardarm.policies.vla.tokens import TOKEN_MASK, TOKENS

__all__ = ["PaliGemmaNetwork"]


class PaliGemmaNetwork(nn.Module):
    """Reads and answers in normalised values; its parameters have LeRobot's names.

    A subclass says what it remembers besides images and text (`remember`), and how time reaches the expert
    (`velocity`).
    """

    def __init__(self, config: PaliGemmaConfig, expert: nn.Module) -> None:
        super().__init__()
        self.config = config
        width = config.sizes.expert.width
        # Nested, because checkpoints call their parts so.
        self.paligemma_with_expert = nn.ModuleDict(
            {"paligemma": PaliGemma(config.sizes), "gemma_expert": nn.ModuleDict({"model": expert})}
        )
        self.action_in_proj = nn.Linear(config.max_action_dim, width)
        self.action_out_proj = nn.Linear(width, config.max_action_dim)
        if config.freeze_vision_encoder:
            self.paligemma.vision_tower.requires_grad_(False)
        if config.train_expert_only:
            self.paligemma.requires_grad_(False)
        if config.gradient_checkpointing:
            self.checkpoint_gradients()

    @property
    def paligemma(self) -> Any:
        """What sees and reads."""
        return self.paligemma_with_expert["paligemma"]

    @property
    def expert(self) -> Any:
        """What acts."""
        return self.paligemma_with_expert["gemma_expert"]["model"]  # type: ignore[index]

    @property
    def vocabulary(self) -> int:
        """How many tokens it knows."""
        return self.paligemma.language.embed_tokens.num_embeddings

    def narrow(self, dtype: torch.dtype) -> None:
        """Compute with shorter numbers, but for eyes, norms and the small projections, as LeRobot does."""
        self.float()
        self.paligemma.narrow(dtype)
        self.expert.narrow(dtype)

    def checkpoint_gradients(self) -> None:
        """Save memory in training: compute layers again for their gradients."""
        self.paligemma.language.checkpointing = self.expert.checkpointing = True

    def forward(self, inputs: Mapping[str, Tensor], noise: Tensor, guidance: Guidance | None = None) -> Tensor:
        """Chunks (batch, step, action) from noise (batch, step, `max_action_dim`)."""
        velocity = self.flow(self.remember(inputs))
        actions = integrate(velocity, noise.float(), self.config.num_inference_steps, guidance)
        return actions[..., : self.config.action_size]

    def flow(self, memory: Memory) -> Velocity:
        """The velocity that leads to one chunk."""

        def velocity(noisy: Tensor, time: float) -> Tensor:
            return self.velocity(memory, noisy, torch.full(noisy.shape[:1], time, device=noisy.device))

        return velocity

    def remember(self, inputs: Mapping[str, Tensor]) -> Memory:
        """All that an answer depends on, but for the noise."""
        return self.paligemma.language(self.prefix(inputs))

    def velocity(self, memory: Memory, noisy: Tensor, times: Tensor) -> Tensor:
        """Where noisy actions go at these times (batch); in float32."""
        raise NotImplementedError

    def prefix(self, inputs: Mapping[str, Tensor]) -> Prefix:
        """Images, then text; all see each other. A camera that is missing would be seen by nobody: it is left out."""
        images = [self.seen(inputs[name]) for name in self.config.images if name in inputs]
        return Prefix.of([*self.paligemma.images(images), self.paligemma.text(inputs[TOKENS], inputs[TOKEN_MASK])])

    def seen(self, images: Tensor) -> Tensor:
        """Images of values 0…1 as the vision tower reads them: -1…1, in its size."""
        height, width = self.config.image_resolution
        return fit_between_bars(images, width, height) * 2 - 1

    def actions(self, actions: Tensor) -> Tensor:
        """Demonstrated actions as the network's own space has them: the same."""
        return actions
