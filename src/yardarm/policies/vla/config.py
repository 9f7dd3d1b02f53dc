"""The options that vision-language-action policies share, by LeRobot's names and with its defaults."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from yardarm.hub import Repositories
from yardarm.policies.learned.config import STATE, FeatureType, NormalizationMode, PolicyConfig, PolicyFeature, require
from yardarm.policies.options import OptimizerOptions, SchedulerOptions
from yardarm.policies.vla.flow import TimeSampling
from yardarm.policies.vla.rtc import RtcOptions

__all__ = ["VlaConfig", "normalization"]

logger = logging.getLogger(__name__)

# Cameras of this name stand for some that others had.
EMPTY_CAMERA = "observation.images.empty_camera_"


def normalization(vectors: NormalizationMode) -> dict[str, NormalizationMode]:
    """One mode for state and actions; images are left as they are."""
    return {"VISUAL": NormalizationMode.IDENTITY, "STATE": vectors, "ACTION": vectors}


@dataclass
class VlaConfig(PolicyConfig):
    """A policy that sees the present, reads an instruction and its state, and turns noise into a chunk."""

    step_options: ClassVar[Mapping[str, tuple[str, str]]] = {
        "tokenizer_max_length": ("tokenizer_processor", "max_length")
    }
    positive_options: ClassVar[tuple[str, ...]] = ("min_period", "max_period", "tokenizer_max_length")
    """Those that must be numbers above zero."""

    chunk_size: int = 50
    n_action_steps: int = 50
    normalization_mapping: dict[str, NormalizationMode] = field(
        default_factory=lambda: normalization(NormalizationMode.MEAN_STD)
    )
    max_state_dim: int = 32
    max_action_dim: int = 32
    empty_cameras: int = 0
    tokenizer_max_length: int = 48
    min_period: float = 4e-3
    max_period: float = 4.0
    rtc_config: RtcOptions | None = None
    compile_model: bool = False
    compile_mode: str = "max-autotune"

    optimizer_lr: float = 1e-4
    optimizer_betas: tuple[float, float] = (0.9, 0.95)
    optimizer_eps: float = 1e-8
    optimizer_weight_decay: float = 1e-10
    optimizer_grad_clip_norm: float = 10
    scheduler_warmup_steps: int = 1_000
    scheduler_decay_steps: int = 30_000
    scheduler_decay_lr: float = 2.5e-6

    def __post_init__(self) -> None:
        for number in range(self.empty_cameras):  # as LeRobot counts them, in files, too
            self.input_features.setdefault(
                f"{EMPTY_CAMERA}{number}", PolicyFeature(FeatureType.VISUAL, self.empty_camera_shape)
            )

    @property
    def empty_camera_shape(self) -> tuple[int, int, int]:
        """What files say of a camera that is not there."""
        return (3, 480, 640)

    @property
    def chunk_length(self) -> int:
        """All that is predicted can be played."""
        return self.chunk_size

    @property
    def resizes_images(self) -> bool:
        """Whether images may have any size."""
        return True

    @property
    def real_cameras(self) -> tuple[str, ...]:
        """The cameras without those that only stand for a camera that others had."""
        return tuple(name for name in self.images if not name.startswith(EMPTY_CAMERA))

    @property
    def read_features(self) -> dict[str, PolicyFeature]:
        """Real cameras, and the state."""
        return {name: self.input_features[name] for name in self.input_features if name in (*self.real_cameras, STATE)}

    @property
    def rtc(self) -> RtcOptions:
        """How real-time chunking guides a chunk."""
        return self.rtc_config or RtcOptions()

    @property
    def time_sampling(self) -> TimeSampling:
        """At which times it learns."""
        return TimeSampling()

    def complete(self, repositories: Repositories, folder: Path | None) -> None:
        """Say which options have no effect."""
        if self.compile_model:
            logger.warning("compile_model=true has no effect: nothing is compiled, the results are the same")

    def optimizer_preset(self) -> OptimizerOptions:
        """AdamW."""
        return OptimizerOptions(
            "adamw",
            lr=self.optimizer_lr,
            weight_decay=self.optimizer_weight_decay,
            betas=self.optimizer_betas,
            eps=self.optimizer_eps,
            grad_clip_norm=self.optimizer_grad_clip_norm,
        )

    def scheduler_preset(self) -> SchedulerOptions:
        """A warm-up, then a cosine."""
        return SchedulerOptions(
            type="cosine_decay_with_warmup",
            num_warmup_steps=self.scheduler_warmup_steps,
            num_decay_steps=self.scheduler_decay_steps,
            decay_lr=self.scheduler_decay_lr,
        )

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        super().check()
        require(bool(self.real_cameras), f"input_features must hold an image, not only {list(self.input_features)}")
        require(self.state is not None, f"input_features must hold '{STATE}', not only {list(self.input_features)}")
        for name, size, room in (
            ("state", self.input_features[STATE].shape[0], self.max_state_dim),
            ("action", self.action_size, self.max_action_dim),
        ):
            require(size <= room, f"the {name} has {size} numbers, more than max_{name}_dim={room}")
        require(
            1 <= self.n_action_steps <= self.chunk_size,
            f"n_action_steps must be between 1 and chunk_size={self.chunk_size}, not {self.n_action_steps}",
        )
        require(self.n_obs_steps == 1, f"n_obs_steps must be 1, not {self.n_obs_steps}: the policy sees the present")
        require(self.empty_cameras >= 0, f"empty_cameras must be at least 0, not {self.empty_cameras}")
        for name in self.positive_options:
            value = getattr(self, name)
            require(0 < value < math.inf, f"{name} must be a positive number, not {value}")
        self.rtc.check()
