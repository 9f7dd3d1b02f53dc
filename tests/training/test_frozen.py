"""Networks of which a part is frozen, and policies that read their instructions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.made import TINY_ACT, TINY_DIFFUSION, demonstrations, small_training
from tests.training.reader import TYPE
from tests.training.test_resume import StopsAfter, assert_same, resumed, weights
from yardarm.errors import UsageError
from yardarm.training import TrainConfig, TrainingListener, train
from yardarm.training.devices import open_accelerator
from yardarm.training.learner import make_learner
from yardarm.training.run import make_trainer
from yardarm.training.trainer import Trainer

READER: dict[str, Any] = {"type": TYPE, "device": "cpu"}
# Of different lengths, so that batches are padded to different lengths.
TEXTS = ("push", "push the red cube", "pull the very long drawer open")
LAYERS = ("q_proj", "expert.q_proj", "expert.v_proj", "out")
TRAINED = {f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demonstrations(tmp_path_factory.mktemp("frozen") / "data", tasks=TEXTS)


def trainer_of(config: TrainConfig) -> Trainer:
    learner = make_learner(config, None)
    accelerator = open_accelerator(learner.policy.config, config.options, learner.policy.placement.device)
    return make_trainer(config, learner, accelerator)


def state_of(folder: Path, name: str) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoints" / "last" / "training_state" / f"{name}.safetensors")


def test_only_what_is_not_frozen_changes(data: Path, tmp_path: Path) -> None:
    trainer = trainer_of(small_training(data, tmp_path / "run", READER))
    before = {name: value.clone() for name, value in trainer.policy.network.state_dict().items()}
    for _ in range(3):
        trainer.advance()
    after = trainer.policy.network.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == TRAINED, "the statistics of frozen batch norms rest, too"


def test_frozen_parts_are_in_evaluation_mode_and_the_others_are_not(data: Path, tmp_path: Path) -> None:
    trainer = trainer_of(small_training(data, tmp_path / "run", READER))
    trainer.advance()
    network = trainer.policy.network
    assert not any(part.training for part in network.language.modules())
    assert network.training
    assert network.out.training
    thawed = trainer_of(small_training(data, tmp_path / "run", {**READER, "train_head_only": False}))
    thawed.advance()
    assert all(part.training for part in thawed.policy.network.modules())


def test_the_state_of_a_training_holds_nothing_that_is_frozen(data: Path, tmp_path: Path) -> None:
    train(small_training(data, tmp_path / "run", READER, ema_decay=0.9))
    assert set(state_of(tmp_path / "run", "average")) == set(state_of(tmp_path / "run", "weights")) == TRAINED
    moments = state_of(tmp_path / "run", "optimizer_state")
    assert len([name for name in moments if name.endswith("/exp_avg")]) == len(TRAINED)
    saved = weights(tmp_path / "run")
    assert "model.language.words.weight" in saved, "the policy itself is whole"


class Said(TrainingListener):
    """Keeps what is said first."""

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        self.summary = summary


def test_the_first_line_says_how_much_is_trained(data: Path, tmp_path: Path) -> None:
    said = Said()
    train(small_training(data, tmp_path / "partly", READER, steps=1), said)
    assert "reader with 904 of 1,944 parameters trained, 6 episodes of 3 task(s)" in said.summary
    train(small_training(data, tmp_path / "wholly", {**READER, "train_head_only": False}, steps=1), said)
    assert "reader with 1,944 parameters trained" in said.summary


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulated": {"gradient_accumulation_steps": 2},
    "averaged": {"ema_decay": 0.9},
    "validated": {"dataset": {"eval_split": 0.4}, "eval_steps": 1},
    "mixed": {"mixed_precision": "bf16"},
    "recomputed": {"gradient_checkpointing": True},
    "workers": {"num_workers": 1},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_on_instructions_is_resumed_exactly(kind: str, data: Path, tmp_path: Path) -> None:
    train(small_training(data, tmp_path / "whole", READER, **KINDS[kind]))
    parts = small_training(data, tmp_path / "parts", READER, **KINDS[kind])
    assert not train(parts, StopsAfter(3)).finished
    resumed(parts, tmp_path / "parts")
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
    rates = [point["lr"] for point in map(json.loads, (tmp_path / "parts" / "metrics.jsonl").open()) if "lr" in point]
    assert len(set(rates)) == 3, "the preset's schedule"


def test_an_adapter_goes_where_the_architectures_pattern_says(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    base = train(small_training(data, tmp_path / "base", READER, steps=1))
    policy = {**READER, "path": str(base.policy)}
    whole = train(small_training(data, tmp_path / "whole", policy, peft={"r": 2}))
    stored = json.loads((whole.policy / "adapter_config.json").read_text())
    assert stored["target_modules"] == r"model\.(expert\..*_proj|out)"
    adapted = {name.partition(".lora_")[0] for name in load_file(whole.policy / "adapter_model.safetensors")}
    beginning = "base_model.model.model."
    assert adapted == {f"{beginning}{name}" for name in ("expert.q_proj", "expert.v_proj", "out")}
    parts = small_training(data, tmp_path / "parts", policy, peft={"r": 2})
    train(parts, StopsAfter(3))
    resumed(parts, tmp_path / "parts")
    last = "checkpoints/last/pretrained_model/adapter_model.safetensors"
    assert_same(load_file(tmp_path / "parts" / last), load_file(tmp_path / "whole" / last))


@pytest.mark.parametrize("policy", [READER, {**TINY_ACT, "dropout": 0.1}], ids=["reader", "act"])
def test_what_is_computed_twice_gives_the_same_losses_and_gradients(
    policy: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    plain, saving = (
        train(small_training(data, tmp_path / str(twice), policy, gradient_checkpointing=twice))
        for twice in (False, True)
    )
    one, other = ([(p["loss"], p["grad_norm"]) for p in result.points if "lr" in p] for result in (plain, saving))
    assert one == other
    assert_same(weights(plain.path), weights(saving.path))


def test_texts_reach_the_network_in_training_only_if_there_are_any(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", tasks=("push", " "))
    with pytest.raises(UsageError, match=r"the policy reads an instruction, but episode 1 of .* has none; `yardarm.*"):
        train(small_training(data, tmp_path / "run", READER))
    assert train(small_training(data, tmp_path / "run", READER, dataset={"episodes": [0, 2]}, steps=1)).finished


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ({**READER, "train_nothing": True}, {}, "all of the policy's parameters are frozen by its options"),
        (TINY_DIFFUSION, {"gradient_checkpointing": True}, "policies of type 'diffusion' do not offer it"),
        (READER, {"peft": {"r": 2}}, "adapts a policy that is trained already: give --policy.path"),
    ],
)
def test_what_cannot_work_is_refused(
    policy: dict[str, Any], options: dict[str, Any], message: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        train(small_training(data, tmp_path / "run", policy, **options))
    assert not (tmp_path / "run").exists()
