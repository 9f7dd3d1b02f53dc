"""SmolVLA is trained: on images and instructions, with most of it frozen, and resumed exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.checkpoints import write_checkpoint
from tests.helpers import GOLDEN
from tests.policies.test_smolvla import told
from tests.training.made import IMAGES, demonstrations, small_training
from tests.training.test_frozen import TEXTS, state_of, trainer_of
from tests.training.test_processes import two_processes
from tests.training.test_resume import StopsAfter, assert_same, resumed, weights
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.training import TrainingListener, setup, train

HUB = GOLDEN / "smolvla" / "hub"
TINY_SMOLVLA: dict[str, Any] = {
    "type": "smolvla",
    "device": "cpu",
    "hub_dir": str(HUB),
    "num_vlm_layers": 4,
    "chunk_size": 8,
    "n_action_steps": 5,
    "max_state_dim": 8,
    "max_action_dim": 8,
    "resize_imgs_with_padding": [64, 64],
    "tokenizer_max_length": 24,
    "optimizer_lr": 1e-3,
}
VLM = "vlm_with_expert.vlm."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demonstrations(tmp_path_factory.mktemp("smolvla") / "data", features=IMAGES, tasks=TEXTS)


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "averaged": {"ema_decay": 0.9},
    "mixed": {"mixed_precision": "bf16", "gradient_accumulation_steps": 2},
    "recomputed": {"gradient_checkpointing": True, "num_workers": 1},
    "thawed": {"policy": {**TINY_SMOLVLA, "train_expert_only": False, "freeze_vision_encoder": False}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_smolvla_is_resumed_exactly(kind: str, data: Path, tmp_path: Path) -> None:
    options = {"policy": TINY_SMOLVLA, "steps": 4, "log_freq": 1, **KINDS[kind]}
    train(small_training(data, tmp_path / "whole", **options))
    parts = small_training(data, tmp_path / "parts", **options)
    assert not train(parts, StopsAfter(2)).finished
    resumed(parts, tmp_path / "parts")
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))


def test_only_the_expert_and_the_projections_learn(data: Path, tmp_path: Path) -> None:
    trainer = trainer_of(small_training(data, tmp_path / "run", TINY_SMOLVLA))
    network = trainer.policy.network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(2):
        trainer.advance()
    changed = {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if not name.startswith(VLM)}
    assert not any(part.training for part in network.vlm.modules())
    assert network.expert.training


def test_every_thawed_parameter_has_a_gradient(data: Path, tmp_path: Path) -> None:
    """Several processes wait for all of them."""
    thawed = {**TINY_SMOLVLA, "train_expert_only": False, "freeze_vision_encoder": False}
    for policy in (TINY_SMOLVLA, thawed):
        trainer = trainer_of(small_training(data, tmp_path / "run", policy))
        trainer.objective(trainer._prepare(next(iter(trainer.batches))))["loss"].backward()
        own = trainer.policy.network.named_parameters()
        assert [name for name, value in own if value.requires_grad and value.grad is None] == []


def test_the_average_leaves_the_language_model_out(data: Path, tmp_path: Path) -> None:
    train(small_training(data, tmp_path / "run", TINY_SMOLVLA, steps=2, ema_decay=0.9))
    for name in ("average", "weights"):
        assert not [key for key in state_of(tmp_path / "run", name) if key.startswith(VLM)]


def test_recomputed_layers_give_the_same_gradients(data: Path, tmp_path: Path) -> None:
    plain, twice = (
        train(small_training(data, tmp_path / str(on), TINY_SMOLVLA, steps=3, log_freq=1, gradient_checkpointing=on))
        for on in (False, True)
    )
    assert_same(weights(plain.path), weights(twice.path))
    one, other = ([(p["loss"], p["grad_norm"]) for p in result.points if "lr" in p] for result in (plain, twice))
    assert one == other


def test_the_rates_are_those_of_lerobots_preset(data: Path, tmp_path: Path) -> None:
    result = train(small_training(data, tmp_path / "run", TINY_SMOLVLA, steps=6, log_freq=1))
    rates = [point["lr"] for point in result.points if "lr" in point]
    # 1,000 of 30,000 steps of warm-up are none of 6: the cosine of the last of six steps.
    assert rates[0] == pytest.approx(1e-3)
    assert rates[3] == pytest.approx((1e-3 + 2.5e-6) / 2)


def test_an_adapter_is_put_where_lerobot_puts_it_and_resumed_exactly(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    base = train(small_training(data, tmp_path / "base", TINY_SMOLVLA, steps=1))
    policy = {"path": str(base.policy), "device": "cpu"}
    options: dict[str, Any] = {"peft": {"r": 2}, "steps": 4}
    whole = train(small_training(data, tmp_path / "whole", policy, **options))
    stored = load_file(whole.policy / "adapter_model.safetensors")
    adapted = {name.removeprefix("base_model.model.model.").partition(".lora_")[0] for name in stored}
    expert = {f"vlm_with_expert.lm_expert.layers.{layer}.self_attn.{kind}_proj" for layer in range(4) for kind in "qv"}
    assert adapted == expert | {
        *("state_proj", "action_in_proj", "action_out_proj", "action_time_mlp_in", "action_time_mlp_out")
    }
    assert json.loads((whole.policy / "adapter_config.json").read_text())["target_modules"].startswith("model\\.")
    parts = small_training(data, tmp_path / "parts", policy, **options)
    train(parts, StopsAfter(2))
    resumed(parts, tmp_path / "parts")
    last = "checkpoints/last/pretrained_model/adapter_model.safetensors"
    assert_same(load_file(tmp_path / "parts" / last), stored)


class Said(TrainingListener):
    """Keeps the first line."""

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        self.summary = summary


def test_the_first_line_says_what_is_frozen(data: Path, tmp_path: Path) -> None:
    said = Said()
    train(small_training(data, tmp_path / "run", TINY_SMOLVLA, steps=1), said)
    assert said.summary.startswith("smolvla with ")
    assert " of " in said.summary.partition(" parameters trained")[0]


@pytest.mark.slow
def test_two_processes_pad_their_own_parts_of_a_batch(data: Path, tmp_path: Path) -> None:
    flags = [
        f"--policy.{name}={json.dumps(value) if isinstance(value, list) else value}"
        for name, value in TINY_SMOLVLA.items()
    ]
    words = ("train", *flags, f"--dataset.root={data}", "--batch_size=2", "--threads=1", "--num_workers=0")
    words = (*words, "--gradient_accumulation_steps=2")
    two_processes(*words, "--steps=4", "--save_freq=0", f"--output_dir={tmp_path / 'whole'}")
    two_processes(*words, "--steps=4", "--save_freq=2", f"--output_dir={tmp_path / 'parts'}")
    two_processes("train", "--resume=true", f"--config_path={tmp_path / 'parts' / 'checkpoints' / '000002'}")
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))


def test_it_is_fine_tuned_for_another_robot_with_other_cameras(data: Path, tmp_path: Path) -> None:
    base = write_checkpoint(GOLDEN / "smolvla", tmp_path / "base")
    policy = {"path": str(base), "device": "cpu", "hub_dir": str(HUB), "num_steps": 2}
    renamed = {"observation.image": "observation.images.wrist"}
    training = small_training(data, tmp_path / "run", policy, steps=2, save_freq=1, rename_map=renamed)
    train(training, StopsAfter(1))
    resumed(training, tmp_path / "run")
    train(small_training(data, tmp_path / "whole", policy, steps=2, rename_map=renamed))
    assert_same(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    folder = tmp_path / "run/checkpoints/last/pretrained_model"
    tuned = load_policy(folder)
    assert tuned.config.action_size == 2
    assert tuned.config.input_features["observation.state"].shape == (3,)
    tuned.see_what_is_there(["observation.image"])
    seen = {"observation.image": np.zeros((1, 32, 32, 3), np.uint8), "observation.state": np.zeros((1, 3))}
    assert tuned.predict({**seen, "task": ["go there"]}).shape == (1, 8, 2)
    # What nothing reads came along, so that LeRobot finds all that it expects.
    assert load_file(folder / "model.safetensors").keys() == load_file(base / "model.safetensors").keys()


def test_one_of_its_cameras_must_be_there(data: Path, tmp_path: Path) -> None:
    policy = {
        "path": str(write_checkpoint(GOLDEN / "smolvla", tmp_path / "base")),
        "device": "cpu",
        "hub_dir": str(HUB),
    }
    with pytest.raises(UsageError, match=r"the policy reads 'observation\.images\.front', which .* does not have"):
        train(small_training(data, tmp_path / "run", policy))


def test_data_may_show_more_than_the_tasks_that_it_is_evaluated_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = load_policy(write_checkpoint(GOLDEN / "smolvla", tmp_path / "base"), hub_dir=HUB)
    both = policy.cameras
    env = {"type": "metaworld", "task": "reach-v3"}
    config = small_training(data, tmp_path / "run", TINY_SMOLVLA, env=env, eval={"background": False})
    monkeypatch.setattr(setup, "select_tasks", lambda envs, trusted: [told("push", both[0])])
    setup.check_evaluation(config, policy)
    assert policy.cameras == both, "the training reads both"
