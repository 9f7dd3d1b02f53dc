"""The options of Diffusion Policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from yardarm.config import one_of
from yardarm.policies.learned.config import NormalizationMode, PolicyConfig, require
from yardarm.policies.networks.resnet import RESNETS
from yardarm.policies.options import OptimizerOptions, SchedulerOptions

__all__ = ["DiffusionConfig"]

SCHEDULERS = ("DDPM", "DDIM")
BETA_SCHEDULES = ("squaredcos_cap_v2", "linear", "scaled_linear", "sigmoid")
PREDICTION_TYPES = ("epsilon", "sample")


def _default_modes() -> dict[str, NormalizationMode]:
    return {
        "VISUAL": NormalizationMode.MEAN_STD,
        "STATE": NormalizationMode.MIN_MAX,
        "ACTION": NormalizationMode.MIN_MAX,
    }


@dataclass
class DiffusionConfig(PolicyConfig):
    """LeRobot's fields and defaults, which are those of the paper's PushT where it gives them."""

    type: ClassVar[str] = "diffusion"

    n_obs_steps: int = 2
    horizon: int = 64
    n_action_steps: int = 32
    normalization_mapping: dict[str, NormalizationMode] = field(default_factory=_default_modes)
    drop_n_last_frames: int = 7

    vision_backbone: str = "resnet18"
    resize_shape: tuple[int, int] | None = None
    crop_ratio: float = 1.0
    crop_shape: tuple[int, int] | None = None
    crop_is_random: bool = True
    pretrained_backbone_weights: str | None = "ResNet18_Weights.IMAGENET1K_V1"
    use_group_norm: bool = False
    spatial_softmax_num_keypoints: int = 32
    use_separate_rgb_encoder_per_camera: bool = True

    down_dims: tuple[int, ...] = (512, 1024, 2048)
    kernel_size: int = 5
    n_groups: int = 8
    diffusion_step_embed_dim: int = 128
    use_film_scale_modulation: bool = True
    gradient_checkpointing: bool = False

    noise_scheduler_type: str = "DDPM"
    num_train_timesteps: int = 100
    beta_schedule: str = "squaredcos_cap_v2"
    beta_start: float = 0.0001
    beta_end: float = 0.02
    prediction_type: str = "epsilon"
    clip_sample: bool = True
    clip_sample_range: float = 1.0
    num_inference_steps: int | None = None

    compile_model: bool = False
    compile_mode: str = "reduce-overhead"
    do_mask_loss_for_padding: bool = False
    optimizer_lr: float = 1e-4
    optimizer_betas: tuple[float, float] = (0.95, 0.999)
    optimizer_eps: float = 1e-8
    optimizer_weight_decay: float = 1e-6
    scheduler_name: str = "cosine"
    scheduler_warmup_steps: int = 500

    def __post_init__(self) -> None:
        if self.resize_shape is not None:  # then crop_ratio alone decides
            height, width = self.resize_shape
            cropped = (int(height * self.crop_ratio), int(width * self.crop_ratio))
            self.crop_shape = cropped if self.crop_ratio < 1 else None

    @property
    def chunk_length(self) -> int:
        """The horizon begins at the oldest observation; what lies before the newest is past."""
        return self.horizon - self.n_obs_steps + 1

    @property
    def observation_offsets(self) -> tuple[int, ...]:
        """The last steps, the current one among them."""
        return tuple(range(1 - self.n_obs_steps, 1))

    @property
    def action_offsets(self) -> tuple[int, ...]:
        """The horizon begins with the oldest observation."""
        return tuple(range(1 - self.n_obs_steps, 1 - self.n_obs_steps + self.horizon))

    @property
    def frames_left_out(self) -> int:
        """The last frames would be mostly padding."""
        return self.drop_n_last_frames

    def check_trainable(self) -> None:
        """Refuse what only LeRobot's trainer does."""
        for name in ("compile_model", "gradient_checkpointing"):
            require(not getattr(self, name), f"--policy.{name}=true is not supported by `yardarm train`; omit it")

    def optimizer_preset(self) -> OptimizerOptions:
        """Adam."""
        return OptimizerOptions(
            "adam",
            lr=self.optimizer_lr,
            weight_decay=self.optimizer_weight_decay,
            betas=self.optimizer_betas,
            eps=self.optimizer_eps,
        )

    def scheduler_preset(self) -> SchedulerOptions:
        """A warm-up, then a cosine."""
        return SchedulerOptions(self.scheduler_name, self.scheduler_warmup_steps)

    @property
    def seen_size(self) -> tuple[int, int]:
        """Height and width of what an image encoder reads, after resizing and cropping."""
        if self.crop_shape is not None:
            return self.crop_shape
        if self.resize_shape is not None:
            return self.resize_shape
        _, height, width = next(iter(self.images.values())).shape
        return height, width

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        super().check()
        self.check_sees_the_scene()
        require(self.n_obs_steps >= 1, f"n_obs_steps must be at least 1, not {self.n_obs_steps}")
        require(
            1 <= self.n_action_steps <= self.chunk_length,
            f"n_action_steps must be between 1 and horizon - n_obs_steps + 1 = {self.chunk_length}, "
            f"not {self.n_action_steps}",
        )
        one_of("vision_backbone", self.vision_backbone, RESNETS)
        one_of("noise_scheduler_type", self.noise_scheduler_type, SCHEDULERS)
        one_of("beta_schedule", self.beta_schedule, BETA_SCHEDULES)
        require(
            self.beta_schedule != "sigmoid" or self.noise_scheduler_type == "DDPM",
            "beta_schedule 'sigmoid' works with DDPM only",
        )
        one_of("prediction_type", self.prediction_type, PREDICTION_TYPES)
        self._check_unet()
        self._check_images()
        inference, trained = self.num_inference_steps, self.num_train_timesteps
        require(
            inference is None or 1 <= inference <= trained,
            f"num_inference_steps must be between 1 and num_train_timesteps={trained}, not {inference}",
        )

    def _check_unet(self) -> None:
        shrinks = 2 ** len(self.down_dims)
        require(
            self.horizon % shrinks == 0,
            f"horizon={self.horizon} must be a multiple of {shrinks}, a factor two for each of "
            f"down_dims={list(self.down_dims)}",
        )
        for width in self.down_dims:
            require(width % self.n_groups == 0, f"down_dims: {width} is not a multiple of n_groups={self.n_groups}")
        require(self.down_dims[0] % 8 == 0, f"down_dims: the first, {self.down_dims[0]}, must be a multiple of 8")
        require(self.kernel_size % 2 == 1, f"kernel_size must be odd, not {self.kernel_size}")

    def _check_images(self) -> None:
        require(0 < self.crop_ratio <= 1, f"crop_ratio must be above 0 and at most 1, not {self.crop_ratio}")
        shapes = {feature.shape for feature in self.images.values()}
        require(len(shapes) <= 1, f"all cameras must have one shape; they have {sorted(shapes)}")
        for _, *size in shapes:
            room = self.resize_shape or size
            for crop, side in zip(self.crop_shape or (), room, strict=False):
                require(0 < crop <= side, f"crop_shape {self.crop_shape} does not fit into images of {tuple(room)}")
