"""What a training does, besides going on exactly."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.datasets.demonstrations import jumping, record, still_at_the_end
from tests.datasets.made import FAST
from tests.training.made import IMAGES, TINY_ACT, TINY_DIFFUSION, demonstrations, small_training
from tests.training.test_resume import assert_same, weights
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter
from yardarm.errors import PolicyFault, UsageError
from yardarm.policies import act
from yardarm.policies.learned.loading import load_policy
from yardarm.results import read_curve
from yardarm.training import TrainingListener, train
from yardarm.training.devices import open_accelerator
from yardarm.training.learner import make_learner
from yardarm.training.run import make_trainer
from yardarm.training.state import save_policy


def losses(folder: Path, kind: str = "train") -> list[float]:
    return [point["loss"] for point in read_curve(folder / "metrics.jsonl") if point["kind"] == kind]


@pytest.mark.parametrize(
    "policy",
    [{**TINY_ACT, "dropout": 0.0, "use_vae": False}, pytest.param(TINY_DIFFUSION, marks=pytest.mark.slow)],
    ids=["act", "diffusion"],
)
def test_a_tiny_set_is_learned_by_heart(policy: dict[str, Any], tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2)
    faster = {"lr": 1e-2, "weight_decay": 0.0}
    train(small_training(data, tmp_path / "run", policy, steps=150, batch_size=8, log_freq=10, optimizer=faster))
    first, *_, last = losses(tmp_path / "run")
    # What a random amount of noise was added to cannot be told to the end.
    assert last < (0.3 if policy["type"] == "act" else 0.7) * first


@pytest.mark.slow
def test_images_are_learned_from_too(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2, features=IMAGES)
    faster = {"lr": 3e-3}
    policy = {**TINY_ACT, "dropout": 0.0, "use_vae": False, "optimizer_lr_backbone": 1e-3}
    train(small_training(data, tmp_path / "run", policy, steps=40, batch_size=8, log_freq=5, optimizer=faster))
    first, *_, last = losses(tmp_path / "run")
    assert last < 0.9 * first


def test_what_is_saved_answers_as_what_was_trained(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    config = small_training(data, tmp_path / "run")
    learner = make_learner(config, None)
    accelerator = open_accelerator(learner.policy.config, config.options, learner.policy.placement.device)
    trainer = make_trainer(config, learner, accelerator)
    for _ in range(3):
        trainer.advance()
    save_policy(trainer, config, tmp_path / "saved")
    seen = {"observation.environment_state": np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)}
    trainer.policy.network.eval()
    assert np.array_equal(load_policy(tmp_path / "saved").predict(seen), trainer.policy.predict(seen))


def test_the_average_is_saved_and_the_weights_are_trained_on(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    data = demonstrations(tmp_path / "data")
    train(small_training(data, tmp_path / "plain"))
    train(small_training(data, tmp_path / "averaged", ema_decay=0.99))
    last = "checkpoints/last"
    plain = load_file(tmp_path / "plain" / last / "pretrained_model" / "model.safetensors")
    saved = load_file(tmp_path / "averaged" / last / "pretrained_model" / "model.safetensors")
    trained = load_file(tmp_path / "averaged" / last / "training_state" / "weights.safetensors")
    assert all(torch.equal(plain[f"model.{name}"], value) for name, value in trained.items())
    assert not torch.equal(saved["model.action_head.weight"], plain["model.action_head.weight"])


def test_accumulated_batches_are_one_large_batch(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    data = demonstrations(tmp_path / "data", episodes=4)
    still = {**TINY_ACT, "dropout": 0.0, "use_vae": False, "chunk_size": 1, "n_action_steps": 1}
    sgd = {"type": "sgd", "lr": 0.1, "weight_decay": 0.0}
    train(small_training(data, tmp_path / "large", still, batch_size=8, steps=2, optimizer=sgd))
    train(
        small_training(
            data, tmp_path / "small", still, batch_size=4, gradient_accumulation_steps=2, steps=2, optimizer=sgd
        )
    )
    one, other = (
        load_file(tmp_path / name / "checkpoints" / "last" / "pretrained_model" / "model.safetensors")
        for name in ("large", "small")
    )
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=1e-5, rtol=1e-4)


def test_held_out_episodes_are_not_learned_from_and_have_a_loss_of_their_own(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=8)
    config = small_training(data, tmp_path / "run", dataset={"eval_split": 0.25}, eval_steps=2)
    result = train(config)
    about = json.loads((tmp_path / "run" / "training.json").read_text())["dataset"]
    assert (about["episodes"], about["held_out"]) == (6, 2)
    assert [point["step"] for point in result.points if point["kind"] == "validation"] == [2, 4, 6]
    again = train(small_training(data, tmp_path / "again", dataset={"eval_split": 0.25}, eval_steps=2))
    assert losses(tmp_path / "again", "validation") == losses(tmp_path / "run", "validation")
    assert again.finished


def test_a_stream_can_be_trained_on(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    result = train(small_training(data, tmp_path / "run", dataset={"streaming": True}))
    assert result.finished
    assert len(losses(tmp_path / "run")) == 3


def test_a_stream_without_a_whole_batch_is_refused(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=1)
    with pytest.raises(UsageError, match="gives no whole batch"):
        train(small_training(data, tmp_path / "run", dataset={"streaming": True}, batch_size=64))


def test_a_trained_policy_is_fine_tuned_with_the_new_datas_statistics(tmp_path: Path) -> None:
    first = train(small_training(demonstrations(tmp_path / "data"), tmp_path / "first"))
    assert first.checkpoint is not None
    other = demonstrations(tmp_path / "other", episodes=3)
    path = str(first.checkpoint / "pretrained_model")
    result = train(small_training(other, tmp_path / "second", {"path": path, "device": "cpu"}))
    assert result.checkpoint is not None
    before, after = (load_policy(folder / "pretrained_model") for folder in (first.checkpoint, result.checkpoint))
    assert after.id != before.id
    name = "action"
    stored = json.loads((other / "meta" / "stats.json").read_text())[name]["mean"]
    step = next(step for step in after.preprocessor.steps if hasattr(step, "statistics"))
    np.testing.assert_allclose(step.statistics[name]["mean"].numpy(), stored, rtol=1e-5)


def test_adapters_are_trained_saved_and_gone_on_with(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from tests.training.test_resume import StopsAfter
    from yardarm.training import find_checkpoint_to_resume

    data = demonstrations(tmp_path / "data")
    base = train(small_training(data, tmp_path / "base"))
    assert base.checkpoint is not None
    policy = {"path": str(base.checkpoint / "pretrained_model"), "device": "cpu"}
    peft = {"r": 2, "target_modules": ["linear1", "linear2"]}
    whole = train(small_training(data, tmp_path / "whole", policy, peft=peft))
    torch.rand(1)  # whoever draws in between changes nothing
    parts = small_training(data, tmp_path / "parts", policy, peft=peft)
    train(parts, StopsAfter(3))
    resumed = train(parts, checkpoint=find_checkpoint_to_resume(tmp_path / "parts"))
    assert whole.checkpoint is not None
    assert resumed.checkpoint is not None
    assert (whole.checkpoint / "pretrained_model" / "adapter_model.safetensors").is_file()
    one, other = (load_policy(result.checkpoint / "pretrained_model") for result in (whole, resumed))
    assert one.id == other.id != load_policy(base.checkpoint / "pretrained_model").id


class Hears(TrainingListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def point(self, point: Any) -> None:
        self.heard.append(point)


def test_a_listener_hears_what_the_curve_has(tmp_path: Path) -> None:
    hears = Hears()
    result = train(small_training(demonstrations(tmp_path / "data"), tmp_path / "run"), hears)
    assert hears.heard == list(result.points) == list(read_curve(tmp_path / "run" / "metrics.jsonl"))
    assert {point["kind"] for point in hears.heard} == {"train", "checkpoint"}
    assert json.loads((tmp_path / "run" / "training.json").read_text())["status"] == "finished"


def test_a_loss_that_is_no_number_ends_the_training(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    policy = {**TINY_ACT, "use_vae": False}
    with pytest.raises(PolicyFault, match=r"the loss is (nan|inf) by step"):
        train(small_training(data, tmp_path / "run", policy, steps=40, optimizer={"type": "sgd", "lr": 1e20}))
    assert json.loads((tmp_path / "run" / "training.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": {**TINY_ACT, "chunk_size": 0}}, "n_action_steps must be between 1 and chunk_size=0"),
        ({"policy": {**TINY_ACT, "chunks": 3}}, "--policy.chunks: policies of type 'act' have no such option"),
        ({"policy": {**TINY_ACT, "input_features": {}}}, "--policy.input_features follows from the dataset"),
        ({"policy": {"type": "actt"}}, "--policy.type=actt cannot be trained; did you mean 'act'"),
        ({"policy": {}}, "which policy"),
        ({"policy": {**TINY_DIFFUSION, "compile_model": True}}, "--policy.compile_model=true is not supported"),
        ({"policy": {**TINY_DIFFUSION, "horizon": 7}}, "horizon=7 must be a multiple of 4"),
        ({"steps": 0}, "--steps must be"),
        ({"batch_size": -1}, "--batch_size must be"),
        (
            {"mixed_precision": "fp17"},
            "--mixed_precision 'fp17' is unknown; did you mean 'fp16'",
        ),
        ({"mixed_precision": "fp16"}, "needs a GPU"),
        ({"ema_decay": 1.0}, "--ema_decay must be at least 0 and below 1"),
        ({"eval_steps": 5}, "needs held-out episodes"),
        ({"dataset": {"eval_split": 1.5}}, "--dataset.eval_split must be"),
        ({"dataset": {"episodes": [99]}}, "99"),
        ({"dataset": {"root": "nowhere"}}, "nowhere"),
        ({"rename_map": {"a": "b"}}, "--rename_map is for --policy.path"),
        ({"peft": {"r": 4}}, "adapts a policy that is trained already"),
        ({"optimizer": {"type": "adamm"}}, "--optimizer.type=adamm is unknown; did you mean 'adam'"),
        ({"optimizer": {"lr": -1}}, "--optimizer.lr must be above 0"),
        ({"scheduler": {"name": "cosin"}}, "--scheduler.name=cosin is unknown; did you mean 'cosine'"),
        ({"task_vector": "mt11"}, "--task_vector 'mt11' is unknown; did you mean 'mt10'"),
        ({"task_vector": "mt10"}, "no task of mt10 has the dataset's instruction 'task 0'"),
        ({"stepps": 3}, "unknown option '--stepps'; did you mean 'steps'"),
        ({"env": {"type": "metaworl"}}, "metaworl"),
        ({"env": {"type": "metaworld", "task": "reach-v3"}}, "observation.environment_state"),
        ({"policy": {**TINY_ACT, "push_to_hub": True}}, "--policy.push_to_hub=true needs to know where"),
        ({"seed": -1}, "--seed must not be negative"),
        ({"seed": 2**70}, "--seed must be a number below"),
        ({"num_workers": 1000}, "--num_workers must be at most 128"),
        ({"dataset": {"eval_split": 0.5}}, "say how often by --eval_steps"),
        ({"max_eval_samples": 5}, "--max_eval_samples is for held-out episodes"),
        ({"eval_freq": 5}, "--eval_freq=5 needs to know where to evaluate"),
        ({"dataset": {"image_transforms": {"enable": True}}}, "the policy sees no images"),
        ({"dataset": {"episodes": 0}}, r"--dataset.episodes must be a list like '\[1, 2\]', got 0"),
        ({"policy": {**TINY_ACT, "dropout": 2.0}}, "these options do not make a policy of type 'act'"),
        ({"policy": {**TINY_ACT, "repo_id": "xx"}}, "--policy.repo_id=xx is no name on the Hub"),
        ({"policy": {**TINY_ACT, "revision": "main"}}, "--policy.revision is of a policy on the Hub"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2)
    with pytest.raises(UsageError, match=message) as caught:
        train(small_training(data, tmp_path / "run", **change))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2)
    train(small_training(data, tmp_path / "run"))
    with pytest.raises(UsageError, match="exists already; resume it with --resume=true"):
        train(small_training(data, tmp_path / "run"))


@pytest.mark.parametrize("policy", [TINY_ACT, TINY_DIFFUSION], ids=["act", "diffusion"])
def test_vectors_of_a_single_number_are_learned_from(policy: dict[str, Any], tmp_path: Path) -> None:
    features = {name: DatasetFeature("float32", (1,)) for name in ("observation.environment_state", "action")}
    writer = DatasetWriter.create(tmp_path / "data", DatasetInfo(10, features), FAST)
    for step in range(12):
        frame = {name: np.array([step / 10], np.float32) for name in features}
        writer.add_frame({**frame, "task": "count"})
    writer.save_episode()
    writer.finalize()
    assert train(small_training(tmp_path / "data", tmp_path / "run", policy, steps=2)).finished


def test_an_architecture_without_an_objective_cannot_be_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "ACT", dataclasses.replace(act.ACT, objective=None))
    config = small_training(demonstrations(tmp_path / "data"), tmp_path / "run")
    with pytest.raises(UsageError, match="policies of type 'act' cannot be trained on demonstrations"):
        train(config)


class Noticing(TrainingListener):
    """Keeps what is said about the dataset."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def noticed(self, lines: Sequence[str]) -> None:
        self.lines += lines


def test_a_training_says_what_is_wrong_with_its_dataset_and_trains_the_same(tmp_path: Path) -> None:
    data = record(tmp_path / "data", 8, {2: still_at_the_end, 5: jumping}, state="observation.environment_state")
    listener = Noticing()
    said = train(small_training(data, tmp_path / "said", steps=2), listener)
    assert listener.lines[0] == "the dataset: 2 warnings in 8 episodes"
    assert listener.lines[1].startswith("  warning: episode 2: nothing moves for the last ")
    assert listener.lines[2].startswith(
        "  warning: episode 5: observation.environment_state shoulder_pan.pos jumps from "
    )
    assert "yardarm dataset check" in listener.lines[3]
    quiet = Noticing()
    silent = train(small_training(data, tmp_path / "silent", steps=2, dataset={"check": False}), quiet)
    assert not quiet.lines
    assert_same(weights(said.path), weights(silent.path))
