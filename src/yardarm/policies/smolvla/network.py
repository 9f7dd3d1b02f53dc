"""The network of SmolVLA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.learned.config import STATE
from yardarm.policies.smolvla.aloha import actions_from_model, actions_to_model, state_to_model
from yardarm.policies.smolvla.config import SmolVlaConfig
from yardarm.policies.smolvla.expert import Expert, ExpertMemory, expert_sizes
from yardarm.policies.vla.flow import Guidance, embed_times, integrate, padded
from yardarm.policies.vla.images import fit_to_corner
from yardarm.policies.vla.layers import LanguageLayers
from yardarm.policies.vla.prefix import Prefix, PrefixPart
from yardarm.policies.vla.tokens import TOKEN_MASK, TOKENS
from yardarm.policies.vla.vision import joined_patches, look, smolvlm_tower

__all__ = ["SmolVlaNetwork"]


class SmolVlaNetwork(nn.Module):
    """Reads and answers in normalised values; its parameters have LeRobot's names."""

    def __init__(self, config: SmolVlaConfig) -> None:
        super().__init__()
        self.config = config
        vlm, width = config.vlm, config.vlm.text.width
        vision_width = vlm.vision.get("hidden_size", 1152)
        connector = nn.Linear(vision_width * vlm.scale_factor**2, width, bias=False)
        # Nested, because checkpoints call their parts so.
        model = {
            "vision_model": smolvlm_tower(vlm.vision),
            "connector": nn.ModuleDict({"modality_projection": nn.ModuleDict({"proj": connector})}),
            "text_model": LanguageLayers(vlm.text, config.vlm_layers, vlm.vocabulary),
        }
        self.vlm_with_expert = nn.ModuleDict(
            {"vlm": nn.ModuleDict({"model": nn.ModuleDict(model)}), "lm_expert": Expert(config)}
        )
        expert_width = expert_sizes(config).width
        self.state_proj = nn.Linear(config.max_state_dim, width)
        self.action_in_proj = nn.Linear(config.max_action_dim, expert_width)
        self.action_out_proj = nn.Linear(expert_width, config.max_action_dim)
        self.action_time_mlp_in = nn.Linear(2 * expert_width, expert_width)
        self.action_time_mlp_out = nn.Linear(expert_width, expert_width)
        self._freeze()

    @property
    def vlm(self) -> Any:
        """Eyes, and the language model."""
        return self.vlm_with_expert["vlm"]["model"]  # type: ignore[index]

    @property
    def vocabulary(self) -> int:
        """How many tokens it knows."""
        return self.vlm["text_model"].embed_tokens.num_embeddings

    @property
    def expert(self) -> Any:
        """What acts."""
        return self.vlm_with_expert["lm_expert"]

    def _freeze(self) -> None:
        """What stays as it is in a training, as LeRobot chooses it."""
        config, text = self.config, self.vlm["text_model"]
        frozen: list[nn.Module] = []
        if config.freeze_vision_encoder:
            frozen.append(self.vlm["vision_model"])
        if config.train_expert_only:
            frozen.append(self.vlm)
        else:  # what hardly anything depends on
            frozen += text.layers[-1 if config.expert_every == 1 else -2 :]
        if not config.train_state_proj:
            frozen.append(self.state_proj)
        for part in frozen:
            part.requires_grad_(False)

    def narrow(self, dtype: torch.dtype) -> None:
        """Compute with shorter numbers, but for the five small projections, as LeRobot does."""
        for part in self.children():
            part.to(dtype if part is self.vlm_with_expert else torch.float32)

    @property
    def _dtype(self) -> torch.dtype:
        return self.vlm["text_model"].embed_tokens.weight.dtype

    def checkpoint_gradients(self) -> None:
        """Save memory in training: compute layers again for their gradients."""
        self.vlm["text_model"].checkpointing = self.expert.checkpointing = True

    def forward(self, inputs: Mapping[str, Tensor], noise: Tensor, guidance: Guidance | None = None) -> Tensor:
        """Chunks (batch, step, action) from noise (batch, step, `max_action_dim`)."""
        memory = self.remember(inputs)

        def velocity(noisy: Tensor, time: float) -> Tensor:
            return self.velocity(memory, noisy, torch.full(noisy.shape[:1], time, device=noisy.device))

        actions = integrate(velocity, noise.float(), self.config.num_steps, guidance)
        actions = actions[..., : self.config.action_size]
        return actions_from_model(actions) if self.config.adapt_to_pi_aloha else actions

    def remember(self, inputs: Mapping[str, Tensor]) -> ExpertMemory:
        """All that an answer depends on, but for the noise."""
        return self.expert.read(self.vlm["text_model"](self.prefix(inputs)))

    def velocity(self, memory: ExpertMemory, noisy: Tensor, times: Tensor) -> Tensor:
        """Where noisy actions go at these times (batch); in float32."""
        actions = self.action_in_proj(noisy)
        embedded = embed_times(times, actions.shape[-1], self.config.min_period, self.config.max_period).to(actions)
        both = torch.cat((actions, embedded[:, None].expand_as(actions)), dim=-1)
        tokens = self.action_time_mlp_out(F.silu(self.action_time_mlp_in(both)))
        return self.action_out_proj(self.expert(tokens.to(self._dtype), memory).float())

    def prefix(self, inputs: Mapping[str, Tensor]) -> Prefix:
        """Images, then text, then the state, which they do not see."""
        text = self._embedded(inputs[TOKENS]) * self.config.vlm.text.width**0.5
        state = self.state_proj(self.state(inputs))[:, None].to(self._dtype)
        parts = [*self._images(inputs), PrefixPart(text, inputs[TOKEN_MASK]), self._all_valid(state, "starts")]
        return Prefix.of(parts, self.config.prefix_length)

    def state(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """The robot's state as the network reads it."""
        state = inputs[STATE]
        return padded(state_to_model(state) if self.config.adapt_to_pi_aloha else state, self.config.max_state_dim)

    def actions(self, actions: Tensor) -> Tensor:
        """Demonstrated actions as the network's own space has them."""
        return actions_to_model(actions) if self.config.adapt_to_pi_aloha else actions

    def _images(self, inputs: Mapping[str, Tensor]) -> list[PrefixPart]:
        """One part for each camera, or three with the tokens that some checkpoints have around an image."""
        there = [self.seen(inputs[name]) for name in self.config.images if name in inputs]
        features = look(self.vlm["vision_model"], torch.cat(there).to(self._dtype))
        joined = joined_patches(features, self.config.vlm.scale_factor)
        tokens = self.vlm["connector"]["modality_projection"]["proj"](joined) * self.config.vlm.text.width**0.5
        parts = [[self._all_valid(image)] for image in tokens.chunk(len(there))]
        if not self.config.add_image_special_tokens:
            return [part for image in parts for part in image]
        before, after = self._brackets(len(there[0]))
        # A camera that is missing leaves its brackets; its picture would be seen by nobody.
        missing = len(self.config.images) - len(there)
        parts += [[]] * min(missing, self.config.empty_cameras)
        return [part for image in parts for part in (before, *image, after)]

    def seen(self, images: Tensor) -> Tensor:
        """Images of values 0…1 as the vision tower reads them: -1…1, in its size."""
        if self.config.resize_imgs_with_padding is not None:
            images = fit_to_corner(images, *self.config.resize_imgs_with_padding)
        return images * 2 - 1

    def _brackets(self, rows: int) -> tuple[PrefixPart, PrefixPart]:
        around, whole = self.config.image_brackets
        device = self.state_proj.weight.device
        before = self._embedded(torch.tensor([[around, whole]], device=device)).expand(rows, -1, -1)
        return self._all_valid(before), self._all_valid(before[:, :1])

    def _embedded(self, tokens: Tensor) -> Tensor:
        return self.vlm["text_model"].embed_tokens(tokens)

    def _all_valid(self, tokens: Tensor, block: Any = "joins") -> PrefixPart:
        return PrefixPart(tokens, torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device), block)
