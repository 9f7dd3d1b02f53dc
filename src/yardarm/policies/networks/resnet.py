"""ResNets without their classifier, with torchvision's names, so that checkpoints fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["DILATABLE", "RESNETS", "FrozenBatchNorm", "group_norm", "resnet_channels", "resnet_stages"]

NormLayer = Callable[[int], nn.Module]


class FrozenBatchNorm(nn.Module):
    """Batch normalisation whose statistics and gains are constants, for small batches of correlated images."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(channels))
        self.register_buffer("bias", torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each channel with the stored statistics."""
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training=False)


def group_norm(channels: int) -> nn.Module:
    """Groups of 16 channels: what some policies put in the place of batch norm."""
    return nn.GroupNorm(channels // 16, channels)


class BasicBlock(nn.Module):
    """Two 3×3 convolutions around a shortcut."""

    expansion = 1

    def __init__(self, channels_in: int, width: int, norm: NormLayer, stride: int, dilation: int) -> None:
        super().__init__()
        self.conv1 = _conv3x3(channels_in, width, stride, dilation)
        self.bn1 = norm(width)
        self.conv2 = _conv3x3(width, width, 1, 1)
        self.bn2 = norm(width)
        self.downsample = _shortcut(channels_in, width * self.expansion, norm, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.downsample(x), inplace=True)


class Bottleneck(nn.Module):
    """A 3×3 convolution between two 1×1 ones, around a shortcut."""

    expansion = 4

    def __init__(self, channels_in: int, width: int, norm: NormLayer, stride: int, dilation: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, width, 1, bias=False)
        self.bn1 = norm(width)
        self.conv2 = _conv3x3(width, width, stride, dilation)
        self.bn2 = norm(width)
        self.conv3 = nn.Conv2d(width, width * self.expansion, 1, bias=False)
        self.bn3 = norm(width * self.expansion)
        self.downsample = _shortcut(channels_in, width * self.expansion, norm, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        out = self.bn3(self.conv3(out))
        return F.relu(out + self.downsample(x), inplace=True)


@dataclass(frozen=True, slots=True)
class _Depth:
    block: type[BasicBlock] | type[Bottleneck]
    layers: tuple[int, int, int, int]


RESNETS = {
    "resnet18": _Depth(BasicBlock, (2, 2, 2, 2)),
    "resnet34": _Depth(BasicBlock, (3, 4, 6, 3)),
    "resnet50": _Depth(Bottleneck, (3, 4, 6, 3)),
    "resnet101": _Depth(Bottleneck, (3, 4, 23, 3)),
    "resnet152": _Depth(Bottleneck, (3, 8, 36, 3)),
}
# Only bottlenecks can be dilated, as in torchvision.
DILATABLE = tuple(name for name, depth in RESNETS.items() if depth.block is Bottleneck)


def resnet_channels(name: str) -> int:
    """How many channels the last feature map has."""
    return 512 * RESNETS[name].block.expansion


def resnet_stages(name: str, norm: NormLayer, *, dilate_last: bool = False) -> dict[str, nn.Module]:
    """The stages from pixels to the last feature map, by torchvision's names, in order.

    `dilate_last` keeps the resolution of the third stage in the fourth, by dilation instead of stride.
    """
    depth = RESNETS[name]
    stages: dict[str, nn.Module] = {
        "conv1": nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        "bn1": norm(64),
        "relu": nn.ReLU(inplace=True),
        "maxpool": nn.MaxPool2d(3, stride=2, padding=1),
    }
    channels = 64
    for number, blocks in enumerate(depth.layers, start=1):
        width = 64 * 2 ** (number - 1)
        dilated = dilate_last and number == 4
        stride = 1 if number == 1 or dilated else 2
        # The first block of a dilated stage still sees its input undilated, as in torchvision.
        layer = [depth.block(channels, width, norm, stride, 1)]
        channels = width * depth.block.expansion
        layer += [depth.block(channels, width, norm, 1, 2 if dilated else 1) for _ in range(blocks - 1)]
        stages[f"layer{number}"] = nn.Sequential(*layer)
    for part in nn.ModuleDict(stages).modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
    return stages


def _conv3x3(channels_in: int, channels_out: int, stride: int, dilation: int) -> nn.Conv2d:
    return nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=dilation, dilation=dilation, bias=False)


def _shortcut(channels_in: int, channels_out: int, norm: NormLayer, stride: int) -> nn.Module:
    if stride == 1 and channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False), norm(channels_out))
