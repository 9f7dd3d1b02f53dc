"""Weights in torchvision's files fit the backbones of both architectures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.checkpoints import small_act, small_diffusion
from yardarm.errors import UsageError
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.networks.backbone import load_backbone
from yardarm.policies.networks.resnet import resnet_stages


def torchvision_file(path: Path, name: str = "resnet18", with_counts: bool = True) -> dict[str, torch.Tensor]:
    """A file like torchvision's, with a classifier; old ones do not count batches."""
    parts = nn.ModuleDict(resnet_stages(name, nn.BatchNorm2d))
    state = {**parts.state_dict(), "fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    kept = {key: value for key, value in state.items() if with_counts or not key.endswith("num_batches_tracked")}
    torch.save(kept, path)
    return kept


@pytest.mark.parametrize("with_counts", [True, False])
@pytest.mark.parametrize("make", [small_act, lambda: small_diffusion(use_group_norm=False)])
def test_a_backbone_gets_the_weights_of_a_file(
    make: Callable[[], LearnedPolicy], with_counts: bool, tmp_path: Path
) -> None:
    stored = torchvision_file(tmp_path / "resnet18.pth", with_counts=with_counts)
    network = make().network
    backbone = network.backbone if hasattr(network, "backbone") else network.rgb_encoder[0].backbone
    load_backbone(backbone, str(tmp_path / "resnet18.pth"))
    first, *_, last = backbone.children()
    assert torch.equal(first.weight, stored["conv1.weight"])
    assert torch.equal(last[1].conv2.weight, stored["layer4.1.conv2.weight"])


def test_weights_of_another_resnet_are_refused(tmp_path: Path) -> None:
    torchvision_file(tmp_path / "resnet18.pth")
    with pytest.raises(UsageError, match=r"does not fit the backbone: 'layer1.2.conv1.weight' is missing there"):
        load_backbone(small_act(vision_backbone="resnet34").network.backbone, str(tmp_path / "resnet18.pth"))
