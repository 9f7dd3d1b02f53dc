"""What a policy recommends for its own training: an optimiser and a schedule of its learning rate, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from yardarm.config import fit_fields, option
from yardarm.errors import UsageError, nearest

__all__ = ["OptimizerOptions", "SchedulerOptions"]

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "linear", "cosine")
# LeRobot's names of the kinds of schedules, and what the second has of its own.
SCHEDULER_TYPES = NAMED, DECAY = ("diffuser", "cosine_decay_with_warmup")
DECAYING = {"num_decay_steps", "peak_lr", "decay_lr"}


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
    num_warmup_steps: int = option(0, "steps over which the learning rate rises from zero, or nearly zero")
    type: str = option(NAMED, f"{NAMED} (the schedule of that name), or {DECAY} (a cosine to decay_lr)")
    num_decay_steps: int | None = option(None, f"{DECAY}: the step at which decay_lr is reached [--steps, if fewer]")
    peak_lr: float | None = option(None, f"{DECAY}: the learning rate of which decay_lr is a part [--optimizer.lr]")
    decay_lr: float | None = option(None, f"{DECAY}: the last learning rate [0]")

    def __post_init__(self) -> None:
        fit_fields(self, "--scheduler.")
        for flag, value, known in (("type", self.type, SCHEDULER_TYPES), ("name", self.name, SCHEDULES)):
            if value not in known:
                raise UsageError(
                    f"--scheduler.{flag}={value} is unknown{nearest(value, known)} one of {', '.join(known)}"
                )
        if self.num_warmup_steps < 0:
            raise UsageError(f"--scheduler.num_warmup_steps must not be negative, got {self.num_warmup_steps}")
        for flag in ("num_decay_steps", "peak_lr"):
            if (value := getattr(self, flag)) is not None and not value > 0:
                raise UsageError(f"--scheduler.{flag} must be above 0, got {value}")
        if self.decay_lr is not None and not self.decay_lr >= 0:
            raise UsageError(f"--scheduler.decay_lr must not be negative, got {self.decay_lr}")

    def changed(self, changes: Mapping[str, Any]) -> SchedulerOptions:
        """With what a user says of this preset; a schedule of another type has nothing in common with it."""
        kind = changes.get("type") or (NAMED if "name" in changes else self.type)
        if foreign := changes.keys() & (DECAYING if kind == NAMED else {"name"}):
            other = DECAY if kind == NAMED else NAMED
            raise UsageError(f"--scheduler.{min(foreign)} is for --scheduler.type={other}, but the type is {kind}")
        return replace(self if kind == self.type else SchedulerOptions(), **{**changes, "type": kind})
