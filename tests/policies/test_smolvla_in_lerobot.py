"""LeRobot loads the SmolVLA checkpoints that are written here, and acts the same.

LEROBOT_PYTHON is the Python of an environment with ``lerobot[smolvla]``, 0.6 or later.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoints import recorded, write_checkpoint
from tests.helpers import GOLDEN
from yardarm import load_policy
from yardarm.hub import Repositories
from yardarm.policies.learned.config import FeatureType, PolicyFeature
from yardarm.policies.learned.creating import new_config, new_policy
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.smolvla import SMOLVLA

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON")
RECORDED = GOLDEN / "smolvla"
HUB = RECORDED / "hub"
DATA = recorded(RECORDED)
INPUTS = ("observation.images.front", "observation.images.wrist", "observation.state")
VLM = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"

LEROBOT = """
import sys
import numpy as np, torch
from lerobot.policies.factory import make_pre_post_processors
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy

folder, seen, answer = sys.argv[1:]
policy = SmolVLAPolicy.from_pretrained(folder).eval()
pre, post = make_pre_post_processors(policy.config, pretrained_path=folder)
batch = {name: torch.from_numpy(value) for name, value in np.load(seen).items() if name != "task"}
noise = batch.pop("noise")
for name in batch:
    if "images" in name:
        batch[name] = batch[name].permute(0, 3, 1, 2).float() / 255
batch["task"] = np.load(seen)["task"].tolist()
np.save(answer, post(policy.predict_action_chunk(pre(batch), noise=noise)).numpy())
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no Python with LeRobot"),
]


def in_cache(home: Path) -> Path:
    """The files that stand for the Hub's, where LeRobot looks for them."""
    repository = home / "hub" / f"models--{VLM.replace('/', '--')}"
    commit = "0" * 40
    shutil.copytree(HUB / VLM, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return home


def answers_of_lerobot(folder: Path, tmp_path: Path) -> np.ndarray:
    seen = {name: DATA[name] for name in (*INPUTS, "task", "noise")}
    np.savez(tmp_path / "seen.npz", **seen)
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", LEROBOT, str(folder), str(tmp_path / "seen.npz"), str(tmp_path / "answer.npy")],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(in_cache(tmp_path / "hf")), "OMP_NUM_THREADS": "1"},
        **{"capture_output": True, "text": True, "timeout": 300},
    )
    assert done.returncode == 0, done.stderr
    return np.load(tmp_path / "answer.npy")


def new_smolvla(**more: Any) -> LearnedPolicy:
    """One that has learned nothing, for what was recorded."""
    stored = json.loads((RECORDED / "config.json").read_text())
    sizes = ("chunk_size", "n_action_steps", "max_state_dim", "max_action_dim", "num_vlm_layers")
    options = {name: stored[name] for name in (*sizes, "resize_imgs_with_padding")}
    inputs, outputs = (
        {name: PolicyFeature(FeatureType(one["type"]), tuple(one["shape"])) for name, one in stored[side].items()}
        for side in ("input_features", "output_features")
    )
    config = new_config(SMOLVLA, inputs, outputs, {**options, **more, "device": "cpu"})
    known = {
        name: {"mean": torch.zeros(feature.shape), "std": torch.full(feature.shape, 2.0)}
        for name, feature in {**inputs, **outputs}.items()
    }
    return new_policy(SMOLVLA, config, known, seed=3, repositories=Repositories(HUB))


def ours(policy: LearnedPolicy) -> np.ndarray:
    return policy.predict({**{name: DATA[name] for name in (*INPUTS, "noise")}, "task": DATA["task"].tolist()})


def test_a_checkpoint_of_lerobot_that_was_saved_again(tmp_path: Path) -> None:
    policy = load_policy(write_checkpoint(RECORDED, tmp_path / "theirs"), hub_dir=HUB)
    policy.save_pretrained(tmp_path / "ours")
    np.testing.assert_allclose(answers_of_lerobot(tmp_path / "ours", tmp_path), DATA["action_chunk"], atol=3e-4, rtol=0)


@pytest.mark.parametrize("options", [{}, {"add_image_special_tokens": True, "empty_cameras": 1}])
def test_a_new_policy(options: dict[str, Any], tmp_path: Path) -> None:
    policy = new_smolvla(**options)
    policy.save_pretrained(tmp_path / "ours")
    np.testing.assert_allclose(answers_of_lerobot(tmp_path / "ours", tmp_path), ours(policy), atol=3e-4, rtol=0)
