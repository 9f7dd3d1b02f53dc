"""Flow matching: from noise at time 1 to actions at time 0, in equal steps along a learned velocity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from yardarm.policies.learned.config import require

__all__ = ["SCHEDULES", "Guidance", "draw_times", "embed_times", "integrate", "padded"]

Velocity = Callable[[Tensor, float], Tensor]
"""Where noisy actions (batch, step, action) go at a time."""
Schedule = Literal["linear", "exp", "ones", "zeros"]
SCHEDULES = ("linear", "exp", "ones", "zeros")


@dataclass(frozen=True, slots=True)
class Guidance:
    """Real-time chunking: the new chunk continues what is left of the one that is being played.

    The correction is added to the velocity as it is, without a derivative, as in LeRobot: it costs nothing.
    """

    left_over: Tensor
    """Normalised actions (batch, step, action) that were planned and not yet played; fewer than a chunk is fine."""
    delay: int
    """How many of them will be played before the new chunk arrives,"""
    horizon: int
    """and up to which step they count at all."""
    schedule: Schedule = "linear"
    max_weight: float = 10.0

    def __post_init__(self) -> None:
        require(self.schedule in SCHEDULES, f"a schedule of guidance is one of {', '.join(SCHEDULES)}")
        require(self.delay >= 0, f"the delay of guidance must not be negative, got {self.delay}")
        require(self.horizon >= 1, f"the horizon of guidance must be at least 1, got {self.horizon}")

    def weights(self, steps: int) -> Tensor:
        """How much each step of a chunk is held to what was planned: 1 at first, 0 at the end."""
        end = min(self.horizon, self.left_over.shape[1], steps)
        start = min(self.delay, end)
        falling = torch.linspace(1, 0, end - start + 2)[1:-1]
        if self.schedule == "exp":
            falling = falling * torch.expm1(falling) / (math.e - 1)
        elif self.schedule in ("ones", "zeros"):
            falling = torch.full_like(falling, float(self.schedule == "ones"))
        return torch.cat((torch.ones(start), falling, torch.zeros(steps - end)))

    def corrected(self, velocity: Tensor, noisy: Tensor, time: float) -> Tensor:
        """A velocity that leads nearer to what was planned."""
        planned = torch.zeros_like(noisy)
        known = self.left_over.to(noisy)[:, : noisy.shape[1], : noisy.shape[2]]
        planned[:, : known.shape[1], : known.shape[2]] = known
        weights = self.weights(noisy.shape[1]).to(noisy)[None, :, None]
        error = (planned - (noisy - time * velocity)) * weights
        return velocity - self._strength(time) * error

    def _strength(self, time: float) -> float:
        done = 1 - time
        if done <= 0:
            return self.max_weight
        return min(self.max_weight, (time**2 + done**2) / (time * done))


def integrate(velocity: Velocity, noise: Tensor, steps: int, guidance: Guidance | None = None) -> Tensor:
    """Follow the velocity from noise (batch, step, action) to actions."""
    actions = noise
    for step in range(steps):
        time = 1 - step / steps
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


def draw_times(
    rows: int, device: torch.device, alpha: float = 1.5, scale: float = 0.999, offset: float = 0.001
) -> Tensor:
    """Times to learn at, one for each row: Beta(alpha, 1), so that noisy actions come more often than clear ones."""
    return scale * torch.rand(rows, device=device) ** (1 / alpha) + offset


def padded(vectors: Tensor, size: int) -> Tensor:
    """Vectors with zeros at their end, up to a size."""
    return F.pad(vectors, (0, size - vectors.shape[-1]))
