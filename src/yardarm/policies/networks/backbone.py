"""Weights of a ResNet that has seen ImageNet, for the backbones of new policies."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from yardarm.errors import UsageError, nearest, one_line

__all__ = ["load_backbone"]

SERVER = "https://download.pytorch.org/models"
FILES = {
    "ResNet18_Weights.IMAGENET1K_V1": "resnet18-f37072fd.pth",
    "ResNet34_Weights.IMAGENET1K_V1": "resnet34-b627a593.pth",
    "ResNet50_Weights.IMAGENET1K_V1": "resnet50-0676ba61.pth",
    "ResNet50_Weights.IMAGENET1K_V2": "resnet50-11ad3fa6.pth",
    "ResNet101_Weights.IMAGENET1K_V1": "resnet101-63fe2227.pth",
    "ResNet101_Weights.IMAGENET1K_V2": "resnet101-cd907fc2.pth",
    "ResNet152_Weights.IMAGENET1K_V1": "resnet152-394f9c45.pth",
    "ResNet152_Weights.IMAGENET1K_V2": "resnet152-f82ba261.pth",
}
FLAG = "--policy.pretrained_backbone_weights"
# The parts of a backbone, in order.
STAGES = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4")
# How many batches a batch norm has seen: frozen ones do not count, old files do not have it, nothing here reads it.
BATCH_COUNT = ".num_batches_tracked"


def load_backbone(backbone: nn.Module, weights: str) -> None:
    """Give a backbone with torchvision's names the weights of this name, or of a file like torchvision's."""
    stored = _read(weights)
    if "0" in dict(backbone.named_children()):
        stored = {_numbered(name): value for name, value in stored.items()}
    expected = {name: value for name, value in backbone.state_dict().items() if not name.endswith(BATCH_COUNT)}
    misfits = [name for name, value in expected.items() if name not in stored or stored[name].shape != value.shape]
    if misfits:
        raise UsageError(
            f"{FLAG}={weights} does not fit the backbone: '{misfits[0]}' is missing there, or has another shape; give "
            "the weights of --policy.vision_backbone, and let --policy.use_group_norm=false"
        )
    backbone.load_state_dict({name: stored[name] for name in expected}, strict=False)


def _numbered(name: str) -> str:
    """In a backbone that is a plain sequence, stages have numbers for names."""
    stage, _, rest = name.partition(".")
    return f"{STAGES.index(stage)}.{rest}" if stage in STAGES else name


def _read(weights: str) -> dict[str, Tensor]:
    path = Path(weights).expanduser()
    if path.is_file():
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch has many ways to say that a file is none of its own
            raise UsageError(f"{FLAG}={weights} is no file of weights: {one_line(error)[:120]}") from error
    if weights not in FILES:
        known = ", ".join(FILES)
        raise UsageError(f"{FLAG}={weights} is neither a file nor known{nearest(weights, FILES)} known are {known}")
    try:
        return torch.hub.load_state_dict_from_url(
            f"{SERVER}/{FILES[weights]}", map_location="cpu", progress=False, check_hash=True, weights_only=True
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"{FLAG}={weights} cannot be downloaded ({one_line(error)[:120]}); give a file that has it, or train the "
            f"backbone from nothing with {FLAG}=null"
        ) from error
