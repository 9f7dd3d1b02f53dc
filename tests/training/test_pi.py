"""π0 and π0.5 are fine-tuned for another robot, and resumed exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from tests.helpers import GOLDEN
from tests.policies.test_paligemma import KINDS, checkpoint, load
from tests.training.made import IMAGES, demonstrations, small_training
from tests.training.test_frozen import TEXTS, trainer_of
from tests.training.test_resume import StopsAfter, assert_same, resumed, weights
from yardarm import load_policy
from yardarm.training import train

RENAMED = {"observation.image": "observation.images.wrist"}
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demonstrations(tmp_path_factory.mktemp("pi") / "data", features=IMAGES, tasks=TEXTS)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def recorded(kind: str, **options: Any) -> dict[str, Any]:
    return {"path": str(checkpoint(kind)), "device": "cpu", "hub_dir": str(GOLDEN / kind / "hub"), **options}


@pytest.mark.parametrize(
    "options",
    [{}, {"train_expert_only": True}, {"gradient_checkpointing": True}],
    ids=["plain", "expert", "recomputed"],
)
def test_it_is_fine_tuned_and_resumed_exactly(kind: str, options: dict[str, Any], data: Path, tmp_path: Path) -> None:
    policy = recorded(kind, **options)
    training = small_training(data, tmp_path / "run", policy, steps=2, save_freq=1, rename_map=RENAMED)
    assert not train(training, StopsAfter(1)).finished
    resumed(training, tmp_path / "run")
    train(small_training(data, tmp_path / "whole", policy, steps=2, rename_map=RENAMED))
    assert_same(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    folder = tmp_path / "run/checkpoints/last/pretrained_model"
    assert load_policy(folder, device="cpu").config.action_size == 2
    before, after = load_file(checkpoint(kind) / WEIGHTS), load_file(folder / WEIGHTS)
    assert after.keys() == before.keys(), "what nothing reads came along"
    changed = {name for name in before if not before[name].equal(after[name])}
    frozen = [name for name in changed if ".paligemma." in name]
    assert bool(frozen) != bool(options.get("train_expert_only"))


def test_every_parameter_that_learns_has_a_gradient(kind: str, data: Path, tmp_path: Path) -> None:
    """Several processes wait for all of them."""
    trainer = trainer_of(small_training(data, tmp_path / "run", recorded(kind), rename_map=RENAMED))
    trainer.objective(trainer._prepare(next(iter(trainer.batches))))["loss"].backward()
    own = trainer.policy.network.named_parameters()
    assert [name for name, value in own if value.requires_grad and value.grad is None] == []


def test_the_presets_are_lerobots(kind: str) -> None:
    config = load(kind).config
    optimizer, scheduler = config.optimizer_preset(), config.scheduler_preset()
    assert (optimizer.type, optimizer.lr, optimizer.weight_decay) == ("adamw", 2.5e-5, 0.01)
    assert (tuple(optimizer.betas), optimizer.grad_clip_norm) == ((0.9, 0.95), 1.0)
    assert (scheduler.num_warmup_steps, scheduler.num_decay_steps, scheduler.decay_lr) == (1000, 30_000, 2.5e-6)


def test_an_adapter_is_put_where_lerobot_puts_it(kind: str, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    training = small_training(data, tmp_path / "run", recorded(kind), peft={"r": 2}, steps=1, rename_map=RENAMED)
    folder = train(training).policy
    stored = load_file(folder / "adapter_model.safetensors")
    adapted = {name.removeprefix("base_model.model.model.").partition(".lora_")[0] for name in stored}
    expert = {
        f"paligemma_with_expert.gemma_expert.model.layers.{layer}.self_attn.{part}_proj"
        for layer in range(2)
        for part in "qv"
    }
    only_pi0 = {"state_proj", "action_time_mlp_in", "action_time_mlp_out"} if kind == "pi0" else set()
    assert adapted == {*expert, "action_in_proj", "action_out_proj", *only_pi0}
    assert "gemma_expert" in json.loads((folder / "adapter_config.json").read_text())["target_modules"]
