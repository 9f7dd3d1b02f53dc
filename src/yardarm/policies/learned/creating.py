"""A policy that has learned nothing yet, made to fit a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from yardarm.errors import UsageError
from yardarm.hub import Repositories
from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.learned.config import PolicyConfig, PolicyFeature
from yardarm.policies.learned.placement import Placement, choose_device
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import Statistics, TaskVector, with_task_vector

__all__ = ["Features", "new_config", "new_policy"]

Features = Mapping[str, PolicyFeature]
# What follows from the dataset.
GIVEN = ("input_features", "output_features", "pretrained_path", "use_peft")


def new_config(
    architecture: Architecture, inputs: Features, outputs: Features, options: Mapping[str, Any]
) -> PolicyConfig:
    """The configuration of a policy of this architecture for these features; options are its fields."""
    for name in GIVEN:
        if name in options:
            raise UsageError(f"--policy.{name} follows from the dataset; omit it")
    device = choose_device(str(options.get("device") or "auto"))
    features = {
        side: {name: {"type": feature.type.value, "shape": list(feature.shape)} for name, feature in own.items()}
        for side, own in (("input_features", inputs), ("output_features", outputs))
    }
    source = f"--policy.type={architecture.name}"
    return architecture.config.from_json(features, {**options, "device": str(device)}, source)


def new_policy(
    architecture: Architecture,
    config: PolicyConfig,
    statistics: Statistics,
    seed: int,
    task_vector: TaskVector | None = None,
    repositories: Repositories | None = None,
) -> LearnedPolicy:
    """A policy with random weights, or with those that its configuration has it start from."""
    repositories = repositories or Repositories()
    config.complete(repositories, None)
    processing = with_task_vector(architecture.processing, config, statistics, task_vector).completed(repositories)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        network = architecture.made(config)
        if architecture.initial_weights is not None:
            architecture.initial_weights(config, network)
    placement = Placement(choose_device(config.device or "auto"))
    return architecture.policy(architecture, config, network, processing, placement)
