"""The options of ACT."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from yardarm.config import one_of
from yardarm.policies.learned.config import NormalizationMode, PolicyConfig, require
from yardarm.policies.networks.resnet import DILATABLE, RESNETS
from yardarm.policies.options import OptimizerOptions

__all__ = ["ActConfig"]

# LeRobot knows "glu" too, and then fails in its first forward pass.
ACTIVATIONS = ("relu", "gelu")


def _mean_std() -> dict[str, NormalizationMode]:
    return dict.fromkeys(("VISUAL", "STATE", "ACTION"), NormalizationMode.MEAN_STD)


@dataclass
class ActConfig(PolicyConfig):
    """LeRobot's fields and defaults, which are those of the paper where it gives them."""

    type: ClassVar[str] = "act"

    chunk_size: int = 100
    n_action_steps: int = 100
    normalization_mapping: dict[str, NormalizationMode] = field(default_factory=_mean_std)

    vision_backbone: str = "resnet18"
    pretrained_backbone_weights: str | None = "ResNet18_Weights.IMAGENET1K_V1"
    replace_final_stride_with_dilation: bool = False

    pre_norm: bool = False
    dim_model: int = 512
    n_heads: int = 8
    dim_feedforward: int = 3200
    feedforward_activation: str = "relu"
    n_encoder_layers: int = 4
    # The original has seven, and a bug that uses only the first: so does everybody since.
    n_decoder_layers: int = 1
    use_vae: bool = True
    latent_dim: int = 32
    n_vae_encoder_layers: int = 4
    temporal_ensemble_coeff: float | None = None

    dropout: float = 0.1
    kl_weight: float = 10.0
    optimizer_lr: float = 1e-5
    optimizer_weight_decay: float = 1e-4
    optimizer_lr_backbone: float = 1e-5

    @property
    def chunk_length(self) -> int:
        """All of a chunk can be played."""
        return self.chunk_size

    def optimizer_preset(self) -> OptimizerOptions:
        """AdamW; the backbone has a learning rate of its own."""
        return OptimizerOptions("adamw", lr=self.optimizer_lr, weight_decay=self.optimizer_weight_decay)

    def learning_rates(self) -> dict[str, float]:
        """The backbone's."""
        return {"backbone.": self.optimizer_lr_backbone}

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        super().check()
        self.check_sees_the_scene()
        require(self.n_obs_steps == 1, f"n_obs_steps must be 1 for ACT, not {self.n_obs_steps}")
        require(
            1 <= self.n_action_steps <= self.chunk_size,
            f"n_action_steps must be between 1 and chunk_size={self.chunk_size}, not {self.n_action_steps}; set both",
        )
        require(
            self.temporal_ensemble_coeff is None or self.n_action_steps == 1,
            f"temporal_ensemble_coeff predicts at every step: set n_action_steps=1, too; it is {self.n_action_steps}",
        )
        one_of("vision_backbone", self.vision_backbone, RESNETS)
        one_of("feedforward_activation", self.feedforward_activation, ACTIVATIONS)
        require(
            not self.replace_final_stride_with_dilation or self.vision_backbone in DILATABLE,
            f"replace_final_stride_with_dilation works with {', '.join(DILATABLE)}, not with {self.vision_backbone}",
        )
        require(
            self.dim_model % self.n_heads == 0,
            f"dim_model={self.dim_model} must be a multiple of n_heads={self.n_heads}",
        )
        require(
            not self.images or self.dim_model % 4 == 0,
            f"dim_model={self.dim_model} must be a multiple of 4, for the positions in images",
        )
