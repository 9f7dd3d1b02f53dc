"""Flow matching: from noise at time 1 to actions at time 0, in equal steps along a learned velocity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["SCHEDULES", "Guidance", "TimeSampling", "Velocity", "embed_times", "integrate", "padded", "step_times"]

Velocity = Callable[[Tensor, float], Tensor]
"""Where noisy actions (batch, step, action) go at a time."""
SCHEDULES = ("linear", "exp", "ones", "zeros")


@dataclass(frozen=True, slots=True)
class Guidance:
    """Real-time chunking: the new chunk continues what is left of the one that is being played.

    The correction is added to the velocity as it is, without a derivative, as in LeRobot: it costs nothing.
    """

    left_over: Tensor
    """Normalised actions (batch, step, action) that were planned and not yet played; fewer than a chunk is fine."""
    delay: Tensor
    """How many of them each row (batch) will play before its new chunk arrives,"""
    horizon: int
    """and up to which step they count at all."""
    schedule: str = "linear"
    max_weight: float = 10.0

    def weights(self, steps: int) -> Tensor:
        """How much each step of a chunk (batch, step) is held to what was planned: 1 at first, 0 at the end."""
        end = min(self.horizon, self.left_over.shape[1], steps)
        start = self.delay.clamp(0, end)[:, None]
        step = torch.arange(steps, device=start.device)[None]
        if self.schedule == "ones":
            return (step < end).expand(len(start), -1).float()
        if self.schedule == "zeros":
            return (step < start).float()
        falling = ((end - step) / (end - start + 1)).clamp(0, 1)
        weights = torch.where(step < start, 1.0, falling)
        return weights * torch.expm1(weights) / (math.e - 1) if self.schedule == "exp" else weights

    def corrected(self, velocity: Tensor, noisy: Tensor, time: float) -> Tensor:
        """A velocity that leads nearer to what was planned."""
        _, steps, size = noisy.shape
        known = self.left_over.to(noisy)[:, :steps]
        planned = F.pad(known, (0, size - known.shape[2], 0, steps - known.shape[1]))
        error = (planned - (noisy - time * velocity)) * self.weights(steps).to(noisy)[..., None]
        return velocity - self._strength(time) * error

    def _strength(self, time: float) -> float:
        done = 1 - time
        if done <= 0:
            return self.max_weight
        return min(self.max_weight, (time**2 + done**2) / (time * done))


def step_times(steps: int) -> list[float]:
    """When each step starts: the first at 1, with noise."""
    return [1 - step / steps for step in range(steps)]


def integrate(velocity: Velocity, noise: Tensor, steps: int, guidance: Guidance | None = None) -> Tensor:
    """Follow the velocity from noise (batch, step, action) to actions."""
    actions = noise
    for time in step_times(steps):
        direction = velocity(actions, time)
        if guidance is not None:
            direction = guidance.corrected(direction, actions, time)
        actions = actions - direction / steps
    return actions


def embed_times(times: Tensor, width: int, min_period: float, max_period: float) -> Tensor:
    """Times (batch) as sines, then cosines, of periods from the shortest to the longest (batch, width)."""
    fractions = torch.linspace(0, 1, width // 2, dtype=torch.float64, device=times.device)
    periods = min_period * (max_period / min_period) ** fractions
    angles = 2 * math.pi * times.double()[:, None] / periods
    return torch.cat((angles.sin(), angles.cos()), dim=1)


@dataclass(frozen=True, slots=True)
class TimeSampling:
    """Times to learn at: of a Beta distribution by which noisy actions come more often than clear ones."""

    alpha: float = 1.5
    beta: float = 1.0
    scale: float = 0.999
    offset: float = 0.001

    def draw(self, rows: int, device: torch.device) -> Tensor:
        """One for each row."""
        if self.beta == 1:
            drawn = torch.rand(rows, device=device) ** (1 / self.alpha)
        else:
            drawn = torch.distributions.Beta(self.alpha, self.beta).sample((rows,)).to(device)
        return self.scale * drawn + self.offset


def padded(vectors: Tensor, size: int) -> Tensor:
    """Vectors with zeros at their end, up to a size."""
    return F.pad(vectors, (0, size - vectors.shape[-1]))
