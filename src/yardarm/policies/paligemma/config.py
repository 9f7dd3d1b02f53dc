"""The options that π0 and π0.5 share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from yardarm.config import one_of
from yardarm.hub import Repositories
from yardarm.policies.checkpoint import WEIGHTS, CheckpointFolder
from yardarm.policies.learned.config import require
from yardarm.policies.paligemma.sizes import PUBLISHED, VARIANTS, PaliGemmaSizes
from yardarm.policies.vla.config import VlaConfig
from yardarm.policies.vla.flow import TimeSampling
from yardarm.policies.vla.model_file import ModelSettings

__all__ = ["TOKENIZER", "PaliGemmaConfig"]

# LeRobot names no other, so no option does.
TOKENIZER = "google/paligemma-3b-pt-224"
SIZES = "sizes.json"
DTYPES = ("float32", "bfloat16")


@dataclass
class PaliGemmaConfig(VlaConfig):
    """LeRobot's fields and defaults."""

    positive_options: ClassVar[tuple[str, ...]] = (
        *VlaConfig.positive_options,
        *("time_sampling_beta_alpha", "time_sampling_beta_beta", "time_sampling_scale"),
    )

    paligemma_variant: str = "gemma_2b"
    action_expert_variant: str = "gemma_300m"
    dtype: str = "float32"
    num_inference_steps: int = 10
    time_sampling_beta_alpha: float = 1.5
    time_sampling_beta_beta: float = 1.0
    time_sampling_scale: float = 0.999
    time_sampling_offset: float = 0.001
    use_relative_actions: bool = False
    relative_exclude_joints: list[str] = field(default_factory=lambda: ["gripper"])
    action_feature_names: list[str] | None = None
    image_resolution: tuple[int, int] = (224, 224)
    gradient_checkpointing: bool = False
    freeze_vision_encoder: bool = False
    train_expert_only: bool = False

    optimizer_lr: float = 2.5e-5
    optimizer_weight_decay: float = 0.01
    optimizer_grad_clip_norm: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.given_sizes = ModelSettings(PUBLISHED, "the published sizes")

    @property
    def empty_camera_shape(self) -> tuple[int, int, int]:
        """As large as what the vision tower reads."""
        return (3, *self.image_resolution)

    @property
    def time_sampling(self) -> TimeSampling:
        """At which times it learns."""
        return TimeSampling(
            self.time_sampling_beta_alpha,
            self.time_sampling_beta_beta,
            self.time_sampling_scale,
            self.time_sampling_offset,
        )

    def check_changes(self, stored: Mapping[str, Any], folder: Path) -> None:
        """Whether actions are relative is decided by its training."""
        trained = bool(stored.get("use_relative_actions", False))
        require(
            self.use_relative_actions == trained,
            f"--policy.use_relative_actions cannot be changed: {folder} was trained with {str(trained).lower()}",
        )

    def complete(self, repositories: Repositories, folder: Path | None) -> None:
        """Find the sizes: in a file of the checkpoint, or else those that were published."""
        super().complete(repositories, folder)
        if folder is not None and (folder / SIZES).is_file():
            self.given_sizes = ModelSettings.read(folder / SIZES)
        self.sizes = PaliGemmaSizes.of(
            self.given_sizes, self.paligemma_variant, self.action_expert_variant, self.image_resolution[0]
        )
        if folder is not None:
            self._check_size(CheckpointFolder(folder))

    def _check_size(self, folder: CheckpointFolder) -> None:
        """Refuse weights of other sizes, before a network of billions of numbers is made for nothing."""
        names = folder.tensor_names(WEIGHTS) if folder.has(WEIGHTS) and not folder.has(SIZES) else []
        for name in (name for name in names if name.endswith("action_in_proj.weight")):
            there, published = folder.tensor_shape(WEIGHTS, name)[0], self.sizes.expert.width
            require(
                there == published,
                f"{folder.path / WEIGHTS}: its expert is {there:,} wide, where {published:,} are published; a policy "
                f"of another size needs a {SIZES} beside it",
            )

    def side_files(self) -> dict[str, bytes]:
        """The sizes, which LeRobot's ``config.json`` only names."""
        return {SIZES: json.dumps(dict(self.given_sizes.values), indent=2).encode()}

    def essence(self) -> Mapping[str, bytes]:
        """The sizes that count."""
        return {SIZES: json.dumps(asdict(self.sizes), sort_keys=True).encode()}

    def check_trainable(self) -> None:
        """Relative actions have statistics of their own, which no dataset here has."""
        require(
            not self.use_relative_actions,
            "use_relative_actions=true cannot be trained here: it needs statistics of relative actions; omit it",
        )

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        super().check()
        one_of("paligemma_variant", self.paligemma_variant, VARIANTS)
        one_of("action_expert_variant", self.action_expert_variant, VARIANTS)
        one_of("dtype", self.dtype, DTYPES)
        require(
            self.num_inference_steps >= 1, f"num_inference_steps must be at least 1, not {self.num_inference_steps}"
        )
        height, width = self.image_resolution
        require(height == width and height > 0, f"image_resolution must be a square, not {height}×{width}")
