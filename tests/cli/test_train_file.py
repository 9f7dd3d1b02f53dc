"""LeRobot's train_config.json starts the same training here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GOLDEN
from yardarm.cli.commands.train import read_config
from yardarm.errors import UsageError
from yardarm.policies.smolvla import SmolVlaConfig
from yardarm.tasks.metaworld import MetaworldConfig

FILE = GOLDEN / "lerobot_train_config.json"
# What version 0.6 writes besides.
NEWER = {
    "prefetch_factor": 4,
    "persistent_workers": True,
    "cudnn_deterministic": False,
    "eval_steps": 0,
    "max_eval_samples": 0,
    "reward_model": None,
    "sample_weighting": None,
    "save_checkpoint_to_hub": False,
    "job": {"target": None, "image": "x", "detach": False},
}


def file(folder: Path, **changes: Any) -> str:
    data = json.loads(FILE.read_text())
    for name, value in changes.items():
        section, _, key = name.partition("__")
        (data[section] if key else data)[key or section] = value
    path = folder / "train_config.json"
    path.write_text(json.dumps(data))
    return str(path)


def test_it_is_the_training_that_the_flags_describe(tmp_path: Path) -> None:
    config, checkpoint = read_config({"config_path": file(tmp_path, **NEWER), "steps": "7"})
    assert checkpoint is None
    assert config.dataset.repo_id == "me/reach"
    assert (config.options.steps, config.options.batch_size, config.options.num_workers) == (7, 8, 4)
    assert isinstance(config.env, MetaworldConfig)
    assert config.env.task == "assembly-v3"
    assert config.policy["type"] == "smolvla"
    unknown = {name for name in config.policy if name != "type" and not hasattr(SmolVlaConfig(), name)}
    assert not unknown
    assert (config.optimizer, config.scheduler) == ({}, {}), "the policy's own presets, which its options may change"


def test_a_schedule_of_ones_own_is_taken_over(tmp_path: Path) -> None:
    config, _ = read_config({"config_path": file(tmp_path, use_policy_training_preset=False)})
    assert config.optimizer["betas"] == (0.9, 0.95)
    assert config.scheduler == {
        "type": "cosine_decay_with_warmup",
        "num_warmup_steps": 1000,
        "num_decay_steps": 30_000,
        "peak_lr": 1e-4,
        "decay_lr": 2.5e-6,
    }


def test_what_was_fine_tuned_is_fine_tuned(tmp_path: Path) -> None:
    config, _ = read_config({"config_path": file(tmp_path, policy__pretrained_path="lerobot/smolvla_base")})
    assert config.policy["path"] == "lerobot/smolvla_base"
    assert "type" not in config.policy


def test_without_a_world_nothing_is_evaluated(tmp_path: Path) -> None:
    config, _ = read_config({"config_path": file(tmp_path, env=None, eval_freq=500)})
    assert not config.evaluates


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_rabc": True}, "LeRobot's file has use_rabc=True: samples cannot be weighted here"),
        (
            {"reward_model": {"type": "sarm"}},
            "reward models cannot be trained here",
        ),
        ({"save_checkpoint_to_hub": True}, "only the final policy is uploaded"),
        ({"stepps": 3}, "unknown option '--stepps'"),
        ({"policy": "smolvla"}, "LeRobot's file has a policy without a 'type': smolvla"),
        ({"policy": {"pretrained_path": "a/b"}}, "LeRobot's file has a policy without a 'type': {'pretrained_path'"),
    ],
)
def test_what_cannot_be_done_here_is_said(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read_config({"config_path": file(tmp_path, **changes)})


def test_lerobots_training_is_not_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints" / "000010"
    (folder / "pretrained_model").mkdir(parents=True)
    (folder / "training_state").mkdir()
    file(folder / "pretrained_model")
    with pytest.raises(UsageError, match=r"which only LeRobot resumes; .* give --policy\.path="):
        read_config({"config_path": str(tmp_path), "resume": "true"})
