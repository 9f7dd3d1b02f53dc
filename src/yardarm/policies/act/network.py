"""The network of ACT: a transformer from what is seen now to a chunk of actions.

In training, a second encoder compresses the demonstrated chunk into a latent "style" (a conditional VAE), so that the
policy need not average over styles. In use the latent is zero, the mean of its prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.transformer import Decoder, Encoder, image_positions, sinusoidal_positions
from yardarm.policies.learned.config import ACTION, ENVIRONMENT_STATE, STATE
from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.networks.resnet import FrozenBatchNorm, resnet_channels, resnet_stages

__all__ = ["ActNetwork", "Latent"]


@dataclass(frozen=True, slots=True)
class Latent:
    """A normal distribution over the style of a chunk."""

    mean: Tensor
    log_variance: Tensor

    def sample(self) -> Tensor:
        """Draw with a gradient."""
        return self.mean + (self.log_variance / 2).exp() * torch.randn_like(self.mean)


class ActNetwork(nn.Module):
    """Reads and answers in normalised values; its parameters have LeRobot's names."""

    computed_buffers = ("vae_encoder_pos_enc",)
    checkpointing = False

    def __init__(self, config: ActConfig) -> None:
        super().__init__()
        self.config = config
        size = config.dim_model
        if config.use_vae:
            self.vae_encoder = Encoder(config, config.n_vae_encoder_layers)
            self.vae_encoder_cls_embed = nn.Embedding(1, size)
            if config.state:
                self.vae_encoder_robot_state_input_proj = nn.Linear(config.state.shape[0], size)
            self.vae_encoder_action_input_proj = nn.Linear(config.action_size, size)
            self.vae_encoder_latent_output_proj = nn.Linear(size, 2 * config.latent_dim)
            tokens = 1 + bool(config.state) + config.chunk_size
            self.register_buffer("vae_encoder_pos_enc", sinusoidal_positions(tokens, size)[None])
        if config.images:
            stages = resnet_stages(
                config.vision_backbone, FrozenBatchNorm, dilate_last=config.replace_final_stride_with_dilation
            )
            self.backbone = nn.Sequential()
            for name, stage in stages.items():
                self.backbone.add_module(name, stage)
            self.encoder_img_feat_input_proj = nn.Conv2d(resnet_channels(config.vision_backbone), size, 1)
        if config.state:
            self.encoder_robot_state_input_proj = nn.Linear(config.state.shape[0], size)
        if config.environment_state:
            self.encoder_env_state_input_proj = nn.Linear(config.environment_state.shape[0], size)
        self.encoder_latent_input_proj = nn.Linear(config.latent_dim, size)
        vectors = 1 + bool(config.state) + bool(config.environment_state)
        self.encoder_1d_feature_pos_embed = nn.Embedding(vectors, size)
        self.encoder = Encoder(config, config.n_encoder_layers)
        self.decoder = Decoder(config)
        self.decoder_pos_embed = nn.Embedding(config.chunk_size, size)
        self.action_head = nn.Linear(size, config.action_size)
        for part in (self.encoder, self.decoder):
            for parameter in part.parameters():
                if parameter.ndim > 1:
                    nn.init.xavier_uniform_(parameter)

    def checkpoint_gradients(self) -> None:
        """Save memory in training: compute layers again for their gradients."""
        for part in self.modules():
            if isinstance(part, ActNetwork | Encoder | Decoder):
                part.checkpointing = True

    def forward(self, inputs: Mapping[str, Tensor], latent: Tensor | None = None) -> Tensor:
        """Predict chunks (batch, chunk, action) from inputs of shape (batch, …)."""
        tokens, positions = self._tokens(inputs, latent)
        memory = self.encoder(tokens, positions)
        return self.action_head(self.decoder(self.decoder_pos_embed.weight, memory, positions))

    def encode_actions(self, inputs: Mapping[str, Tensor], is_padding: Tensor) -> Latent:
        """Infer the style of demonstrated chunks; `is_padding` marks their steps after an episode's end."""
        actions = inputs[ACTION]
        tokens = [self.vae_encoder_cls_embed.weight.expand(actions.shape[0], 1, -1)]
        if self.config.state:
            tokens.append(self.vae_encoder_robot_state_input_proj(inputs[STATE])[:, None])
        tokens.append(self.vae_encoder_action_input_proj(actions))
        real = is_padding.new_zeros(actions.shape[0], len(tokens) - 1)
        encoded = self.vae_encoder(
            torch.cat(tokens, dim=1), self.vae_encoder_pos_enc, torch.cat((real, is_padding), dim=1)
        )
        mean, log_variance = self.vae_encoder_latent_output_proj(encoded[:, 0]).chunk(2, dim=-1)
        return Latent(mean, log_variance)

    def _tokens(self, inputs: Mapping[str, Tensor], latent: Tensor | None) -> tuple[Tensor, Tensor]:
        """One token for each vector and for each cell of each camera's feature map, and all their positions."""
        some = next(iter(inputs.values()))
        if latent is None:
            latent = self.action_head.weight.new_zeros(some.shape[0], self.config.latent_dim)
        vectors = [self.encoder_latent_input_proj(latent)]
        if self.config.state:
            vectors.append(self.encoder_robot_state_input_proj(inputs[STATE]))
        if self.config.environment_state:
            vectors.append(self.encoder_env_state_input_proj(inputs[ENVIRONMENT_STATE]))
        tokens = [torch.stack(vectors, dim=1)]
        positions = [self.encoder_1d_feature_pos_embed.weight[None]]
        for camera in self.config.images:
            features = self._features(inputs[camera])
            positions.append(image_positions(features, self.config.dim_model).flatten(2).transpose(1, 2))
            tokens.append(self.encoder_img_feat_input_proj(features).flatten(2).transpose(1, 2))
        return torch.cat(tokens, dim=1), torch.cat(positions, dim=1)

    def _features(self, images: Tensor) -> Tensor:
        """The backbone's map; only its four large stages are worth being computed twice."""
        for name, stage in self.backbone.named_children():
            images = recomputed(self.checkpointing and name.startswith("layer"), stage, images)
        return images
