"""Diffusion Policy as a bundle."""

from __future__ import annotations

from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.network import DiffusionNetwork
from yardarm.policies.diffusion.objective import DiffusionObjective
from yardarm.policies.diffusion.policy import DiffusionPolicy
from yardarm.policies.diffusion.vision import ImageEncoder
from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.networks.backbone import load_backbone

__all__ = ["DIFFUSION"]


def load_image_backbones(config: DiffusionConfig, network: DiffusionNetwork) -> None:
    """Start from ResNets that know ImageNet, one for each image encoder."""
    if config.pretrained_backbone_weights:
        for part in network.modules():
            if isinstance(part, ImageEncoder):
                load_backbone(part.backbone, config.pretrained_backbone_weights)


DIFFUSION = Architecture(
    config=DiffusionConfig,
    network=DiffusionNetwork,
    objective=DiffusionObjective,
    policy=DiffusionPolicy,
    initial_weights=load_image_backbones,
    prefix="diffusion.",
    # The U-Net's convolutions over time, what tells it of steps and observations, and the end of image encoders.
    adapted=(
        *("block.0", "cond_encoder.1", "final_conv.1"),
        *("diffusion_step_encoder.1", "diffusion_step_encoder.3", "out"),
    ),
)
