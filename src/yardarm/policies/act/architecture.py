"""ACT as a bundle."""

from __future__ import annotations

from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.network import ActNetwork
from yardarm.policies.act.objective import ActObjective
from yardarm.policies.act.policy import ActPolicy
from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.networks.backbone import load_backbone

__all__ = ["ACT"]


def load_image_backbone(config: ActConfig, network: ActNetwork) -> None:
    """Start from a ResNet that knows ImageNet."""
    if config.images and config.pretrained_backbone_weights:
        load_backbone(network.backbone, config.pretrained_backbone_weights)


ACT = Architecture(
    config=ActConfig,
    network=ActNetwork,
    objective=ActObjective,
    policy=ActPolicy,
    initial_weights=load_image_backbone,
    prefix="model.",
    # Feed-forward layers, which hold most of a transformer's weights, and the way into it and out of it.
    adapted=(
        *("linear1", "linear2", "action_head"),
        *("encoder_robot_state_input_proj", "encoder_env_state_input_proj", "encoder_img_feat_input_proj"),
    ),
)
