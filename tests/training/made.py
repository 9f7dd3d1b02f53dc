"""Small demonstrations and small trainings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.datasets.made import FAST
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter
from yardarm.training import TrainConfig, config_from_data

# A world whose expert pushes towards a goal that it sees.
STATES = {"observation.environment_state": DatasetFeature("float32", (5,)), "action": DatasetFeature("float32", (2,))}
META_WORLD_STATES = {
    "observation.environment_state": DatasetFeature("float32", (39,)),
    "action": DatasetFeature("float32", (4,)),
}
IMAGES = {
    "observation.image": DatasetFeature("video", (32, 32, 3), ["height", "width", "channels"]),
    "observation.state": DatasetFeature("float32", (3,)),
    "action": DatasetFeature("float32", (2,)),
}
TINY_ACT: dict[str, Any] = {
    "type": "act",
    "device": "cpu",
    "chunk_size": 4,
    "n_action_steps": 4,
    "dim_model": 16,
    "n_heads": 2,
    "dim_feedforward": 32,
    "n_encoder_layers": 1,
    "n_vae_encoder_layers": 1,
    "latent_dim": 4,
    "pretrained_backbone_weights": None,
    "optimizer_lr": 1e-3,
}
TINY_DIFFUSION: dict[str, Any] = {
    "type": "diffusion",
    "device": "cpu",
    "horizon": 8,
    "n_action_steps": 4,
    "down_dims": [8, 16],
    "n_groups": 4,
    "diffusion_step_embed_dim": 8,
    "num_train_timesteps": 4,
    "drop_n_last_frames": 1,
    "spatial_softmax_num_keypoints": 4,
    "pretrained_backbone_weights": None,
    "use_group_norm": True,
    "scheduler_warmup_steps": 2,
}


def demonstrations(
    root: Path,
    episodes: int = 6,
    features: dict[str, DatasetFeature] = STATES,
    tasks: Sequence[str] = ("task 0", "task 1"),
) -> Path:
    """Episodes of an expert that goes straight to the goal; what else the features have room for is zero."""
    writer = DatasetWriter.create(root, DatasetInfo(10, dict(features)), FAST)
    for episode in range(episodes):
        generator = np.random.default_rng(episode)
        place, goal = generator.normal(size=(2, 2)).astype(np.float32)
        for step in range(8 + episode % 3):
            action = np.clip(goal - place, -0.2, 0.2)
            seen = np.concatenate([place, goal, [step / 10]]).astype(np.float32)
            frame: dict[str, Any] = {"action": action, "task": tasks[episode % len(tasks)]}
            if "observation.image" in features:
                image = np.full((32, 32, 3), 30, np.uint8)
                row, column = (np.clip((place + 2) * 7, 0, 27)).astype(int)
                image[row : row + 4, column : column + 4] = 220
                frame |= {"observation.image": image, "observation.state": seen[:3]}
            else:
                frame["observation.environment_state"] = _filled(seen, features["observation.environment_state"])
            frame["action"] = _filled(action, features["action"])
            writer.add_frame(frame)
            place = place + action
        writer.save_episode()
    writer.finalize()
    return root


def _filled(values: np.ndarray, feature: DatasetFeature) -> np.ndarray:
    return np.pad(values, (0, feature.shape[0] - len(values)))


def small_training(root: Path, output: Path, policy: dict[str, Any] = TINY_ACT, **options: Any) -> TrainConfig:
    """A training of a few steps; options are flags, sections among them."""
    dataset = {"root": str(root), "use_imagenet_stats": False, **options.pop("dataset", {})}
    plain = {"steps": 6, "batch_size": 4, "log_freq": 2, "save_freq": 0, "threads": 1, "num_workers": 0, **options}
    data = {"dataset": dataset, "policy": policy, "output_dir": str(output), **plain}
    return config_from_data(data, trusted=True)
