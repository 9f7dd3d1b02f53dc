"""A policy that has learned nothing yet, made to fit a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from yardarm.errors import UsageError, one_line
from yardarm.policies.learned.config import PolicyConfig, PolicyFeature
from yardarm.policies.learned.policy import LearnedPolicy, Placement, choose_device
from yardarm.policies.loading import CHECKPOINT_TYPES
from yardarm.policies.networks.backbone import load_backbone
from yardarm.policies.processing import Statistics, TaskVector, make_postprocessor, make_preprocessor
from yardarm.registry import import_object

__all__ = ["Features", "new_config", "new_policy"]

Features = Mapping[str, PolicyFeature]
# What follows from the dataset.
GIVEN = ("input_features", "output_features", "pretrained_path", "use_peft")


def new_config(kind: str, inputs: Features, outputs: Features, options: Mapping[str, Any]) -> PolicyConfig:
    """The configuration of a policy of this type for these features; options are its fields."""
    architecture: type[LearnedPolicy] = import_object(CHECKPOINT_TYPES[kind])
    for name in GIVEN:
        if name in options:
            raise UsageError(f"--policy.{name} follows from the dataset; leave it away")
    device = choose_device(str(options.get("device") or "auto"))
    features = {
        side: {name: {"type": feature.type.value, "shape": list(feature.shape)} for name, feature in own.items()}
        for side, own in (("input_features", inputs), ("output_features", outputs))
    }
    return architecture.config_class.from_json(features, {**options, "device": str(device)}, f"--policy.type={kind}")


def new_policy(
    config: PolicyConfig, statistics: Statistics, seed: int, told: TaskVector | None = None
) -> LearnedPolicy:
    """A policy with random weights, but for the backbones whose weights the configuration names."""
    architecture: type[LearnedPolicy] = import_object(CHECKPOINT_TYPES[config.type])
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            network = architecture.network_class(config)
        except (ArithmeticError, AssertionError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"a policy of type '{config.type}' cannot be made so: {one_line(error)[:160]}") from error
    weights = getattr(config, "pretrained_backbone_weights", None)
    if config.images and weights:
        for backbone in _backbones(network):
            load_backbone(backbone, weights)
    pipelines = make_preprocessor(config, statistics, told), make_postprocessor(config, statistics)
    return architecture(config, network, *pipelines, Placement(choose_device(config.device or "auto")))


def _backbones(network: nn.Module) -> list[nn.Module]:
    return [part for name, part in network.named_modules() if name.rpartition(".")[2] == "backbone"]
