"""The ResNets are torchvision's, by their names, shapes and numbers of parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.checkpoints import small_act, small_diffusion
from yardarm.policies.networks.resnet import resnet_channels, resnet_stages

# The numbers of parameters that torchvision publishes, with the classifier.
PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
}
CLASSES = 1000


def torchvision_shapes(blocks: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The convolutions of a torchvision ResNet with bottlenecks."""
    shapes: dict[str, tuple[int, ...]] = {"conv1.weight": (64, 3, 7, 7)}
    before = 64
    for stage, count in enumerate(blocks, start=1):
        width = 32 * 2**stage
        for block in range(count):
            name = f"layer{stage}.{block}"
            shapes[f"{name}.conv1.weight"] = (width, before, 1, 1)
            shapes[f"{name}.conv2.weight"] = (width, width, 3, 3)
            shapes[f"{name}.conv3.weight"] = (4 * width, width, 1, 1)
            if block == 0:
                shapes[f"{name}.downsample.0.weight"] = (4 * width, before, 1, 1)
            before = 4 * width
    return shapes


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_resnet_has_torchvisions_parameters(name: str) -> None:
    stages = nn.ModuleDict(resnet_stages(name, nn.BatchNorm2d))
    classifier = resnet_channels(name) * CLASSES + CLASSES
    assert sum(value.numel() for value in stages.parameters()) + classifier == PARAMETERS[name]


@pytest.mark.parametrize(("name", "blocks"), [("resnet101", (3, 4, 23, 3)), ("resnet152", (3, 8, 36, 3))])
def test_deep_resnets_have_torchvisions_names(name: str, blocks: tuple[int, ...]) -> None:
    state = nn.ModuleDict(resnet_stages(name, nn.BatchNorm2d)).state_dict()
    convolutions = {key: tuple(value.shape) for key, value in state.items() if value.ndim == 4}
    assert convolutions == torchvision_shapes(blocks)
    norms = {key.rpartition(".")[0] for key in state} - {key.rpartition(".")[0] for key in convolutions}
    paired = {key.replace("conv", "bn").replace("downsample.0", "downsample.1") for key in convolutions}
    assert norms == {key.rpartition(".")[0] for key in paired}


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(lambda: small_act(vision_backbone="resnet101"), id="act"),
        pytest.param(
            lambda: small_act(vision_backbone="resnet152", replace_final_stride_with_dilation=True), id="act-dilated"
        ),
        pytest.param(lambda: small_diffusion(vision_backbone="resnet101", use_group_norm=False), id="diffusion"),
    ],
)
def test_both_architectures_see_with_deep_resnets(policy: object) -> None:
    network = policy().network  # type: ignore[operator]
    part = network if hasattr(network, "backbone") else network.rgb_encoder[0]
    with torch.inference_mode():
        features = part.backbone(torch.zeros(1, 3, 64, 64))
    assert features.shape[1] == 2048
