"""The network of Diffusion Policy: encoders of observations, and a denoiser that they condition."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.sampler import Sampler
from yardarm.policies.diffusion.unet import UNet
from yardarm.policies.diffusion.vision import ImageEncoder
from yardarm.policies.learned.config import ENVIRONMENT_STATE, STATE

__all__ = ["DiffusionNetwork"]


class DiffusionNetwork(nn.Module):
    """Reads and answers in normalised values; its parameters have LeRobot's names."""

    def __init__(self, config: DiffusionConfig) -> None:
        super().__init__()
        self.config = config
        self.sampler = Sampler(config)
        features = sum(feature.shape[0] for feature in (config.state, config.environment_state) if feature)
        if config.images:
            separate = config.use_separate_rgb_encoder_per_camera
            self.rgb_encoder = (
                nn.ModuleList(ImageEncoder(config) for _ in config.images) if separate else ImageEncoder(config)
            )
            features += len(config.images) * config.spatial_softmax_num_keypoints * 2
        self.unet = UNet(config, features * config.n_obs_steps)

    def forward(self, inputs: Mapping[str, Tensor], noise: Tensor) -> Tensor:
        """Denoise `noise` (draw, batch, horizon, action), given inputs of shape (batch, observation step, …)."""
        conditioning = self.encode(inputs)

        def denoise(sample: Tensor, step: int) -> Tensor:
            steps = torch.full(sample.shape[:1], step, device=sample.device)
            return self.unet(sample, steps, conditioning)

        return self.sampler.sample(denoise, noise)

    def encode(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """All observations as one vector for each row of the batch."""
        parts = [inputs[STATE]] if self.config.state else []
        for number, camera in enumerate(self.config.images):
            encoder = self.rgb_encoder[number] if isinstance(self.rgb_encoder, nn.ModuleList) else self.rgb_encoder
            images = inputs[camera]
            parts.append(encoder(images.flatten(0, 1)).unflatten(0, images.shape[:2]))
        if self.config.environment_state:
            parts.append(inputs[ENVIRONMENT_STATE])
        return torch.cat(parts, dim=-1).flatten(1)
