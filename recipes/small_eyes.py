"""ACT with small eyes: five convolutions instead of a ResNet. One CPU core learns from small images in minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import nn

from yardarm.policies.act.architecture import ACT
from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.network import ActNetwork

CHANNELS = 128


@dataclass
class SmallEyesConfig(ActConfig):
    """ACT's own options; those of the ResNet mean nothing here."""

    type: ClassVar[str] = "act_small_eyes"

    pretrained_backbone_weights: str | None = None


class SmallEyesNetwork(ActNetwork):
    """A sixteenth of an image's width and height is left: 4 × 3 tokens of 64 × 48 pixels."""

    def __init__(self, config: SmallEyesConfig) -> None:
        super().__init__(config)
        self.backbone = nn.Sequential(
            *_layer(3, 32, 5, stride=2),
            *_layer(32, 64, 3, stride=2),
            *_layer(64, CHANNELS, 3, stride=2),
            *_layer(CHANNELS, CHANNELS, 3, stride=1),
            *_layer(CHANNELS, CHANNELS, 3, stride=2),
        )
        self.encoder_img_feat_input_proj = nn.Conv2d(CHANNELS, config.dim_model, 1)


def _layer(channels_in: int, channels_out: int, size: int, stride: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(channels_in, channels_out, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
    return convolution, nn.GroupNorm(channels_out // 16, channels_out), nn.ReLU(inplace=True)


SMALL_EYES = replace(ACT, config=SmallEyesConfig, network=SmallEyesNetwork)
