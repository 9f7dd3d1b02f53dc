"""What a policy recommends for its own training: an optimiser and a schedule of its learning rate, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import fit_fields, option
from yardarm.errors import UsageError, nearest

__all__ = ["OptimizerOptions", "SchedulerOptions"]

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "linear", "cosine")


@dataclass(frozen=True)
class OptimizerOptions:
    """Flags below ``--optimizer.``."""

    type: str = option("adamw", "adam, adamw or sgd")
    lr: float = option(1e-3, "the learning rate")
    weight_decay: float = option(1e-2, "how strongly weights decay to zero")
    betas: tuple[float, float] = option((0.9, 0.999), "for adam and adamw")
    eps: float = option(1e-8, "for adam and adamw")
    momentum: float = option(0.0, "for sgd")
    grad_clip_norm: float = option(10.0, "clip gradients to this norm; 0: never")

    def __post_init__(self) -> None:
        fit_fields(self, "--optimizer.")
        if self.type not in OPTIMIZERS:
            near = nearest(self.type, OPTIMIZERS)
            raise UsageError(f"--optimizer.type={self.type} is unknown{near} one of {', '.join(OPTIMIZERS)}")
        if not self.lr > 0:
            raise UsageError(f"--optimizer.lr must be above 0, got {self.lr}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise UsageError(f"--optimizer.betas must lie between 0 and 1, got {list(self.betas)}")
        if not self.eps > 0:
            raise UsageError(f"--optimizer.eps must be above 0, got {self.eps}")
        for name in ("weight_decay", "momentum", "grad_clip_norm"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"--optimizer.{name} must not be negative, got {getattr(self, name)}")


@dataclass(frozen=True)
class SchedulerOptions:
    """Flags below ``--scheduler.``."""

    name: str = option("constant", "after the warm-up: constant, linear or cosine (both fall to zero at the last step)")
    num_warmup_steps: int = option(0, "steps over which the learning rate rises from zero")

    def __post_init__(self) -> None:
        fit_fields(self, "--scheduler.")
        if self.name not in SCHEDULES:
            near = nearest(self.name, SCHEDULES)
            raise UsageError(f"--scheduler.name={self.name} is unknown{near} one of {', '.join(SCHEDULES)}")
        if self.num_warmup_steps < 0:
            raise UsageError(f"--scheduler.num_warmup_steps must not be negative, got {self.num_warmup_steps}")
