"""How Diffusion Policy sees: a ResNet, and the expected places of its strongest responses."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.networks.resnet import group_norm, resnet_channels, resnet_stages

__all__ = ["ImageEncoder"]


class SpatialSoftmax(nn.Module):
    """Keypoints of a feature map: for each channel, the mean place under a softmax over all cells."""

    pos_grid: Tensor
    computed_buffers = ("pos_grid",)

    def __init__(self, channels: int, height: int, width: int, keypoints: int) -> None:
        super().__init__()
        self.nets = nn.Conv2d(channels, keypoints, 1)
        # By numpy, like LeRobot: torch's linspace has other last bits.
        columns, rows = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
        grid = np.stack((columns.ravel(), rows.ravel()), axis=1)
        self.register_buffer("pos_grid", torch.from_numpy(grid).float())

    def forward(self, features: Tensor) -> Tensor:
        """From (batch, channel, height, width) to (batch, keypoint, 2) in -1…1, x before y."""
        attention = F.softmax(self.nets(features).flatten(2), dim=-1)
        return attention @ self.pos_grid


class ImageEncoder(nn.Module):
    """From an image to a short vector."""

    def __init__(self, config: DiffusionConfig) -> None:
        super().__init__()
        self.config = config
        norm = group_norm if config.use_group_norm else nn.BatchNorm2d
        self.backbone = nn.Sequential(*resnet_stages(config.vision_backbone, norm).values())
        height, width = config.seen_size
        for _ in range(5):  # each stride of a ResNet rounds up
            height, width = (height + 1) // 2, (width + 1) // 2
        keypoints = config.spatial_softmax_num_keypoints
        self.pool = SpatialSoftmax(resnet_channels(config.vision_backbone), height, width, keypoints)
        self.out = nn.Linear(keypoints * 2, keypoints * 2)

    def forward(self, images: Tensor) -> Tensor:
        """From (batch, channel, height, width) to (batch, feature)."""
        keypoints = self.pool(self.backbone(self._prepared(images)))
        return F.relu(self.out(keypoints.flatten(1)))

    def _prepared(self, images: Tensor) -> Tensor:
        """Resize, then crop: at a random place in training, in the middle otherwise."""
        config = self.config
        if config.resize_shape is not None:
            images = F.interpolate(images, tuple(config.resize_shape), mode="bilinear", antialias=True)
        if config.crop_shape is None:
            return images
        (height, width), (to_height, to_width) = images.shape[-2:], config.crop_shape
        if self.training and config.crop_is_random:
            top = int(torch.randint(height - to_height + 1, ()))
            left = int(torch.randint(width - to_width + 1, ()))
        else:
            top, left = round((height - to_height) / 2), round((width - to_width) / 2)
        return images[..., top : top + to_height, left : left + to_width]
