"""From noise to a sample in a few steps: DDPM (Ho et al., 2020) and DDIM (Song et al., 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from yardarm.policies.diffusion.config import DiffusionConfig

__all__ = ["Sampler", "kept_signal"]

Denoise = Callable[[Tensor, int], Tensor]


class Sampler:
    """Walks from the noisiest step down to the sample, through evenly spaced steps."""

    def __init__(self, config: DiffusionConfig) -> None:
        self._config = config
        self._kept = kept_signal(config)
        self._count = config.num_inference_steps or config.num_train_timesteps
        self._stride = config.num_train_timesteps // self._count

    @property
    def steps(self) -> list[int]:
        """The diffusion steps at which the denoiser is asked, in order."""
        return [place * self._stride for place in reversed(range(self._count))]

    @property
    def draws(self) -> int:
        """How many times noise is drawn: once for the start, and for DDPM after every step but the last."""
        return 1 if self._config.noise_scheduler_type == "DDIM" else self._count

    def sample(self, denoise: Denoise, noise: Tensor) -> Tensor:
        """Turn `noise` (draw, batch, …) into a sample (batch, …); `denoise(sample, step)` is the network."""
        x = noise[0]
        advance = self._ddim if self._config.noise_scheduler_type == "DDIM" else self._ddpm
        for index, step in enumerate(self.steps):
            answer = denoise(x, step)
            fresh = noise[index + 1] if index + 1 < len(noise) else None
            x = advance(x, step, answer, fresh)
        return x

    def _ddim(self, x: Tensor, step: int, answer: Tensor, fresh: Tensor | None) -> Tensor:
        kept, kept_next = self._signal(step), self._signal(step - self._stride)
        clean, noise = self._parted(x, kept, answer)
        return kept_next.sqrt() * clean + (1 - kept_next).sqrt() * noise

    def _ddpm(self, x: Tensor, step: int, answer: Tensor, fresh: Tensor | None) -> Tensor:
        """Draw from the posterior of the next sample, given this one and the clean one (equation 7)."""
        kept, kept_next = self._signal(step), self._signal(step - self._stride)
        clean, _ = self._parted(x, kept, answer)
        alpha = kept / kept_next
        mean = kept_next.sqrt() * (1 - alpha) / (1 - kept) * clean + alpha.sqrt() * (1 - kept_next) / (1 - kept) * x
        if fresh is None:
            return mean
        variance = (1 - kept_next) / (1 - kept) * (1 - alpha)
        return mean + variance.clamp(min=1e-20).sqrt() * fresh

    def _parted(self, x: Tensor, kept: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
        """Part a noisy sample into the clean one and its noise; only the clean one is clipped."""
        if self._config.prediction_type == "epsilon":
            noise, clean = answer, (x - (1 - kept).sqrt() * answer) / kept.sqrt()
        else:
            noise, clean = (x - kept.sqrt() * answer) / (1 - kept).sqrt(), answer
        if self._config.clip_sample:
            limit = self._config.clip_sample_range
            clean = clean.clamp(-limit, limit)
        return clean, noise

    def _signal(self, step: int) -> Tensor:
        """How much of the clean sample's variance is left at a step; all of it past the last one."""
        return self._kept[step] if step >= 0 else torch.ones(())


def kept_signal(config: DiffusionConfig) -> Tensor:
    """The cumulative product of alphas, which says for each step how much of the signal is left."""
    steps, first, last = config.num_train_timesteps, config.beta_start, config.beta_end
    match config.beta_schedule:
        case "linear":
            betas = torch.linspace(first, last, steps)
        case "scaled_linear":
            betas = torch.linspace(first**0.5, last**0.5, steps) ** 2
        case "sigmoid":
            betas = torch.linspace(-6, 6, steps).sigmoid() * (last - first) + first
        case _:  # squaredcos_cap_v2
            left = [math.cos((step / steps + 0.008) / 1.008 * math.pi / 2) ** 2 for step in range(steps + 1)]
            betas = torch.tensor([min(1 - left[step + 1] / left[step], 0.999) for step in range(steps)])
    return torch.cumprod(1 - betas, dim=0)
