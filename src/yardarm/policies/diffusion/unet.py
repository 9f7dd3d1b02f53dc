"""The denoiser of Diffusion Policy: a one-dimensional U-Net over time, conditioned on observations by FiLM."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from yardarm.policies.diffusion.config import DiffusionConfig

__all__ = ["UNet"]


class StepEmbedding(nn.Module):
    """Sines and cosines of a diffusion step, of ever longer wavelengths."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, steps: Tensor) -> Tensor:
        """From (batch,) to (batch, size)."""
        half = self.size // 2
        places = torch.arange(half, device=steps.device, dtype=torch.float32)
        angles = steps[:, None].float() * torch.exp(places * -(math.log(10000) / (half - 1)))
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class StepEncoder(nn.Sequential):
    """An embedding of diffusion steps, which is always computed in full precision, and layers after it."""

    def forward(self, input: Tensor) -> Tensor:
        """From (batch,) to (batch, size)."""
        embedding, first, *layers = self
        x = first(embedding(input).to(first.weight.dtype))
        for layer in layers:
            x = layer(x)
        return x


class ConvBlock(nn.Module):
    """A convolution over time, group norm and Mish."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, groups: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv1d(channels_in, channels_out, kernel, padding=kernel // 2),
            nn.GroupNorm(groups, channels_out),
            nn.Mish(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """From (batch, channel, time) to the same with other channels."""
        return self.block(x)


class ConditionedBlock(nn.Module):
    """Two convolutions around a shortcut; between them the condition shifts, and scales, each channel."""

    def __init__(self, channels_in: int, channels_out: int, condition_size: int, config: DiffusionConfig) -> None:
        super().__init__()
        self.scales = config.use_film_scale_modulation
        self.conv1 = ConvBlock(channels_in, channels_out, config.kernel_size, config.n_groups)
        self.cond_encoder = nn.Sequential(
            nn.Mish(), nn.Linear(condition_size, channels_out * 2 if self.scales else channels_out)
        )
        self.conv2 = ConvBlock(channels_out, channels_out, config.kernel_size, config.n_groups)
        same = channels_in == channels_out
        self.residual_conv = nn.Identity() if same else nn.Conv1d(channels_in, channels_out, 1)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Apply the block."""
        out = self.conv1(x)
        modulation = self.cond_encoder(condition)[..., None]
        if self.scales:
            scale, shift = modulation.chunk(2, dim=1)
            out = scale * out + shift
        else:
            out = out + modulation
        return self.conv2(out) + self.residual_conv(x)


class Level(nn.ModuleList):
    """Two blocks at one resolution of time, then a change of resolution."""

    def forward(self, x: Tensor, condition: Tensor) -> tuple[Tensor, Tensor]:
        """What leaves the blocks, and the same at the next resolution."""
        first, second, change = self
        x = second(first(x, condition), condition)
        return x, change(x)


class UNet(nn.Module):
    """Predicts the noise, or the sample, from a noisy one, its diffusion step and the encoded observations."""

    def __init__(self, config: DiffusionConfig, condition_size: int) -> None:
        super().__init__()
        step_size = config.diffusion_step_embed_dim
        self.diffusion_step_encoder = StepEncoder(
            StepEmbedding(step_size),
            nn.Linear(step_size, step_size * 4),
            nn.Mish(),
            nn.Linear(step_size * 4, step_size),
        )

        def block(channels_in: int, channels_out: int) -> ConditionedBlock:
            return ConditionedBlock(channels_in, channels_out, condition_size + step_size, config)

        widths = config.down_dims
        last = len(widths) - 1
        self.down_modules = nn.ModuleList()
        for level, (before, width) in enumerate(zip((config.action_size, *widths), widths, strict=False)):
            shrink = nn.Identity() if level == last else nn.Conv1d(width, width, 3, stride=2, padding=1)
            self.down_modules.append(Level([block(before, width), block(width, width), shrink]))
        self.mid_modules = nn.ModuleList([block(widths[-1], widths[-1]), block(widths[-1], widths[-1])])
        self.up_modules = nn.ModuleList()
        for width, above in zip(widths[:0:-1], widths[-2::-1], strict=True):
            grow = nn.ConvTranspose1d(above, above, 4, stride=2, padding=1)
            # Twice the width: what comes from below, and what was kept on the way down.
            self.up_modules.append(Level([block(width * 2, above), block(above, above), grow]))
        self.final_conv = nn.Sequential(
            # Eight groups whatever n_groups says: checkpoints were trained so.
            ConvBlock(widths[0], widths[0], config.kernel_size, groups=8),
            nn.Conv1d(widths[0], config.action_size, 1),
        )

    def forward(self, sample: Tensor, steps: Tensor, observations: Tensor) -> Tensor:
        """From (batch, time, action) to the same shape."""
        condition = torch.cat((self.diffusion_step_encoder(steps), observations), dim=-1)
        x = sample.transpose(1, 2)
        kept = []
        for level in self.down_modules:
            before, x = level(x, condition)
            kept.append(before)
        for middle in self.mid_modules:
            x = middle(x, condition)
        for level in self.up_modules:
            _, x = level(torch.cat((x, kept.pop()), dim=1), condition)
        return self.final_conv(x).transpose(1, 2)
