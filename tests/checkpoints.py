"""Checkpoints for tests: LeRobot's recorded ones, with their weights computed, and small ones for Meta-World."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from tests.golden.recipe import weight
from tests.helpers import GOLDEN
from yardarm.hub import Repositories
from yardarm.policies.act import ACT, ActConfig
from yardarm.policies.diffusion import DIFFUSION, DiffusionConfig
from yardarm.policies.learned.architecture import Architecture, find_architecture
from yardarm.policies.learned.config import FeatureType, PolicyFeature
from yardarm.policies.learned.creating import new_policy
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.smolvla import SMOLVLA, SmolVlaConfig
from yardarm.policies.vla.model_file import ModelSettings

VARIANTS = GOLDEN / "lerobot_variants"
# The ids of the recorded checkpoints, and of the shipped one, as version 0.1 named them.
POLICY_IDS: dict[str, str] = json.loads((GOLDEN / "policy_ids.json").read_text())
# What a network computes for itself.
COMPUTED = ("vae_encoder_pos_enc", "pos_grid", "num_batches_tracked")

recipe_weight = functools.lru_cache(maxsize=None)(weight)


def write_checkpoint(source: Path, folder: Path) -> Path:
    """Copy a recorded checkpoint and give it its weights."""
    shutil.copytree(source, folder)
    shapes = json.loads((source / "shapes.json").read_text())
    config = json.loads((source / "config.json").read_text())
    kind = find_architecture(config["type"])
    computed = any(key.endswith(COMPUTED) for key in shapes)
    own = kind.network(kind.config.from_json(config, {}, str(source))).state_dict() if computed else {}
    weights = {
        key: own[key.removeprefix(kind.prefix)]
        if key.endswith(COMPUTED)
        else torch.from_numpy(recipe_weight(key, tuple(shape)))
        for key, shape in shapes.items()
    }
    if (source / "stats.npz").exists():
        weights |= {key: torch.from_numpy(value) for key, value in np.load(source / "stats.npz").items()}
    save_file({key: value.contiguous() for key, value in weights.items()}, folder / "model.safetensors")
    return folder


def recorded(source: Path) -> dict[str, np.ndarray]:
    """What went in and came out."""
    return dict(np.load(source / "io.npz"))


def small_act(image: int | None = 32, **options: Any) -> LearnedPolicy:
    """An ACT for Meta-World's shapes: it sees, or reads the state of the world."""
    sizes = {"dim_model": 32, "n_heads": 4, "dim_feedforward": 48, "n_encoder_layers": 1, "n_vae_encoder_layers": 1}
    config = ActConfig(**{**_features(image), "chunk_size": 10, "n_action_steps": 10, **sizes, **options})
    return random_policy(ACT, config)


def small_diffusion(image: int | None = 32, **options: Any) -> LearnedPolicy:
    """A Diffusion Policy for Meta-World's shapes."""
    sizes = {"down_dims": (16, 32), "n_groups": 4, "diffusion_step_embed_dim": 16, "num_train_timesteps": 4}
    lengths = {"horizon": 16, "n_action_steps": 8, "use_group_norm": True}
    config = DiffusionConfig(**{**_features(image), **lengths, **sizes, **options})
    return random_policy(DIFFUSION, config)


def small_smolvla(image: int = 32, hub_dir: Path = GOLDEN / "smolvla" / "hub", **options: Any) -> LearnedPolicy:
    """A SmolVLA for Meta-World's shapes, of the recorded one's sizes."""
    sizes = {"chunk_size": 8, "max_state_dim": 8, "max_action_dim": 8, "num_vlm_layers": 4, "num_steps": 3}
    config = SmolVlaConfig(**{**_features(image), **sizes, "n_action_steps": 5, "tokenizer_max_length": 24, **options})
    config.resize_imgs_with_padding = (64, 64)
    return new_policy(SMOLVLA, config, _made_up(config), seed=0, repositories=Repositories(hub_dir))


def small_pi(kind: str, image: int = 32, **options: Any) -> LearnedPolicy:
    """A π0 or π0.5 for Meta-World's shapes, of the recorded one's sizes and with its weights."""
    sizes = {"chunk_size": 8, "max_state_dim": 8, "max_action_dim": 8, "num_inference_steps": 3, "n_action_steps": 5}
    images = {"image_resolution": (56, 56), "tokenizer_max_length": {"pi0": 24, "pi05": 96}[kind]}
    architecture = find_architecture(kind)
    config: Any = architecture.config(**{**_features(image), **sizes, **images, **options})
    config.given_sizes = ModelSettings.read(GOLDEN / kind / "sizes.json")
    quantiles = {"q01": torch.full((4,), -0.9), "q99": torch.full((4,), 0.9)}
    known = {name: {**own, **quantiles} for name, own in _made_up(config).items()}
    policy = new_policy(architecture, config, known, seed=0, repositories=Repositories(GOLDEN / kind / "hub"))
    own = policy.network.state_dict()
    policy.network.load_state_dict(
        {name: torch.from_numpy(recipe_weight(f"model.{name}", tuple(value.shape))) for name, value in own.items()}
    )
    return policy


def _features(image: int | None) -> dict[str, Any]:
    """With an image of this size, or with all that Meta-World knows of its state."""
    seen = (
        {"observation.image": PolicyFeature(FeatureType.VISUAL, (3, image, image))}
        if image
        else {"observation.environment_state": PolicyFeature(FeatureType.ENV, (39,))}
    )
    return {
        "input_features": {**seen, "observation.state": PolicyFeature(FeatureType.STATE, (4,))},
        "output_features": {"action": PolicyFeature(FeatureType.ACTION, (4,))},
    }


def random_policy(kind: Architecture, config: Any) -> LearnedPolicy:
    """A policy with random weights."""
    config.check()
    torch.manual_seed(0)
    return kind.policy(kind, config, kind.network(config), kind.processing(config, _made_up(config)))


def _made_up(config: Any) -> dict[str, dict[str, torch.Tensor]]:
    """Statistics that change little."""
    features = {**config.input_features, **config.output_features}
    return {
        name: {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
        if feature.type is FeatureType.VISUAL
        else _statistics(feature.shape[0])
        for name, feature in features.items()
    }


def objective_of(policy: LearnedPolicy) -> Any:
    """What the policy would learn by."""
    assert policy.architecture.objective is not None
    return policy.architecture.objective(policy.config, policy.network)


def _statistics(size: int) -> dict[str, torch.Tensor]:
    unit = torch.ones(size)
    return {"mean": 0 * unit, "std": unit, "min": -unit, "max": unit}
