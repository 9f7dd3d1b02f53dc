"""A training that was stopped and resumed is, bit for bit, the one that never was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.made import IMAGES, TINY_ACT, TINY_DIFFUSION, demonstrations, small_training
from yardarm.training import Listener, TrainConfig, find_checkpoint_to_resume, train

KINDS: dict[str, dict[str, Any]] = {
    "states": {},
    "images": {"policy": TINY_ACT, "dataset": {"image_transforms": {"enable": True}}},
    "diffusion": {"policy": {**TINY_DIFFUSION, "use_group_norm": False}},
    "workers": {"num_workers": 1},
    "accumulated": {"gradient_accumulation_steps": 2},
    "averaged": {"ema_decay": 0.9},
    "validated": {"dataset": {"eval_split": 0.4}, "eval_steps": 1},
    "scheduled": {
        "scheduler": {"name": "cosine", "num_warmup_steps": 2},
        "optimizer": {"type": "sgd", "momentum": 0.9},
    },
    "mixed": {"mixed_precision": "bf16"},
}


class StopsAfter(Listener):
    """Asks to stop after a step."""

    def __init__(self, step: int) -> None:
        self.step, self.now = step, 0

    def stepped(self, step: int) -> None:
        self.now = step

    def shall_stop(self) -> bool:
        return self.now >= self.step


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / "last" / "pretrained_model" / "model.safetensors")


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def resumed(config: TrainConfig, folder: Path) -> None:
    assert train(config, checkpoint=find_checkpoint_to_resume(folder)).finished


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_that_was_stopped_gives_the_same_weights(kind: str, tmp_path: Path) -> None:
    features = {"features": IMAGES} if kind in ("images", "diffusion") else {}
    data = demonstrations(tmp_path / "data", **features)
    train(small_training(data, tmp_path / "whole", **KINDS[kind]))
    parts = small_training(data, tmp_path / "parts", **KINDS[kind])
    for step in (1, 4):
        stopped = find_checkpoint_to_resume(tmp_path / "parts") if step > 1 else None
        assert not train(parts, StopsAfter(step), checkpoint=stopped).finished
    resumed(parts, tmp_path / "parts")
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
