"""A training that was stopped and resumed is, bit for bit, the one that never was."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.made import IMAGES, TINY_ACT, TINY_DIFFUSION, demonstrations, small_training
from yardarm.errors import StorageFault, UsageError
from yardarm.results import Curve, read_curve
from yardarm.training import (
    TrainConfig,
    TrainingListener,
    TrainOptions,
    check_resumed,
    find_checkpoint_to_resume,
    train,
)
from yardarm.training.config_file import FIXED

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
LONG = ("diffusion", "averaged", "accumulated")


class StopsAfter(TrainingListener):
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


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in LONG else kind for kind in KINDS]
)
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


CHANGES = (
    *("policy.chunk_size=3", "peft.r=4", "dataset.episodes=[0]", "optimizer.lr=0.1", "scheduler.name=linear", "seed=1"),
    *("batch_size=2", "gradient_accumulation_steps=2", "ema_decay=0.5", "mixed_precision=bf16", "task_vector=tasks"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_what_would_make_another_training_of_it_is_refused(change: str) -> None:
    with pytest.raises(UsageError, match=f"--{change.partition('=')[0]} cannot change when a training is resumed"):
        check_resumed(dict([change.split("=")]), {"policy": {"type": "act"}})


def test_the_type_may_be_typed_again() -> None:
    check_resumed({"policy.type": "mine:MINE", "steps": "9"}, {"policy": {"type": "mine:MINE"}})
    with pytest.raises(UsageError, match=r"--policy\.type cannot change when a training is resumed"):
        check_resumed({"policy.type": "other:MINE"}, {"policy": {"type": "mine:MINE"}})


def test_every_flag_is_either_fixed_or_does_not_change_the_weights() -> None:
    """Who adds a flag decides whether a training may go on with another value of it."""
    may_change = {
        *("steps", "num_workers", "prefetch_factor", "log_freq", "save_freq", "save_checkpoint", "eval_freq"),
        *("eval_steps", "max_eval_samples", "cudnn_deterministic", "threads", "output_dir", "job_name", "resume"),
        *("allow_mixed_versions", "gradient_checkpointing"),
    }
    own = {field.name for field in dataclasses.fields(TrainOptions)}
    assert own == may_change | (FIXED & own)


def test_another_course_from_an_earlier_checkpoint_keeps_the_first_one_aside(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    config = small_training(data, tmp_path / "run", save_freq=2)
    train(config)
    earlier = find_checkpoint_to_resume(tmp_path / "run" / "checkpoints" / "000002")
    assert not train(config, StopsAfter(3), checkpoint=earlier).finished
    assert find_checkpoint_to_resume(tmp_path / "run").step == 3
    [aside] = (tmp_path / "run" / "abandoned").iterdir()
    assert sorted(path.name for path in (aside / "checkpoints").iterdir()) == ["000004", "000006"]
    resumed(config, tmp_path / "run")
    whole = load_file(aside / "checkpoints" / "000006" / "pretrained_model" / "model.safetensors")
    assert_same(weights(tmp_path / "run"), whole)


def test_other_data_is_not_gone_on_with(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=6)
    train(small_training(data, tmp_path / "run", dataset={"episodes": [0]}, steps=4), StopsAfter(1))
    other = small_training(data, tmp_path / "run", dataset={"episodes": [3]}, steps=4)
    with pytest.raises(UsageError, match="episodes are not the ones"):
        train(other, checkpoint=find_checkpoint_to_resume(tmp_path / "run"))


def test_a_folder_that_is_being_trained_in_is_not_touched(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    config = small_training(data, tmp_path / "run", save_freq=2)
    train(config)
    checkpoint = find_checkpoint_to_resume(tmp_path / "run")
    holding = Curve(tmp_path / "run" / "metrics.jsonl", upto=6)
    with pytest.raises(UsageError, match="another process is training in"):
        train(config, checkpoint=checkpoint)
    holding.close()


class DeletesAfter(TrainingListener):
    """Does something to the folder after a step."""

    def __init__(self, step: int, what: Callable[[], object]) -> None:
        self._step, self._what = step, what

    def stepped(self, step: int) -> None:
        if step == self._step:
            self._what()


def test_a_folder_that_is_deleted_meanwhile_is_told_of_and_the_weights_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    config = small_training(demonstrations(tmp_path / "data"), folder, save_freq=2)
    with pytest.raises(StorageFault, match=rf"{folder} was deleted or replaced during the training; .*000006"):
        train(config, DeletesAfter(3, lambda: shutil.rmtree(folder)))
    assert weights(folder)
    assert [point["step"] for point in read_curve(folder / "metrics.jsonl") if point["kind"] == "train"] == [2, 4, 6]
