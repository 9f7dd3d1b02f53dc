"""LeRobot loads the checkpoints of π0 and π0.5 that are written here, and acts the same.

LEROBOT_PYTHON is the Python of an environment with ``lerobot[pi]``, 0.6 or later.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import GOLDEN
from tests.policies.test_paligemma import INPUTS, KINDS, TOLERANCES, data, load, relative_checkpoint
from yardarm.policies.paligemma.config import TOKENIZER

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON")

# LeRobot's sizes are in its code: those of the file are put in their place, and nothing else is changed.
LEROBOT = """
import importlib, json, sys
import numpy as np, torch
from lerobot.policies.factory import make_pre_post_processors

kind, folder, seen, answer = sys.argv[1:]
module = importlib.import_module(f"lerobot.policies.{kind}.modeling_{kind}")
sizes = json.load(open(f"{folder}/sizes.json"))
module.get_gemma_config = lambda variant: module.GemmaConfig(**sizes[variant])
PaliGemma, Gemma = module.PaliGemmaForConditionalGenerationWithPiGemma, module.PiGemmaForCausalLM

def paligemma(config):
    config.text_config.vocab_size = sizes["vocab_size"]
    for name, value in sizes["vision"].items():
        if name != "image_size":
            setattr(config.vision_config, name, value)
    config.vision_config.projection_dim = sizes["gemma_2b"]["width"]
    return PaliGemma(config=config)

def gemma(config):
    config.vocab_size = sizes["vocab_size"]
    return Gemma(config=config)

module.PaliGemmaForConditionalGenerationWithPiGemma, module.PiGemmaForCausalLM = paligemma, gemma
policy = getattr(module, f"{kind.upper()}Policy").from_pretrained(folder).eval()
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
    pytest.mark.timeout(900),
    pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no Python with LeRobot"),
]


def in_cache(kind: str, home: Path) -> Path:
    """The files that stand for the Hub's, where LeRobot looks for them."""
    repository = home / "hub" / f"models--{TOKENIZER.replace('/', '--')}"
    commit = "0" * 40
    shutil.copytree(GOLDEN / kind / "hub" / TOKENIZER, repository / "snapshots" / commit)
    (repository / "snapshots" / commit / "config.json").write_text('{"model_type": "paligemma"}')
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return home


def answers_of_lerobot(kind: str, folder: Path, tmp_path: Path) -> np.ndarray:
    np.savez(tmp_path / "seen.npz", **{name: data(kind)[name] for name in (*INPUTS, "task", "noise")})
    words = [kind, str(folder), str(tmp_path / "seen.npz"), str(tmp_path / "answer.npy")]
    home = str(in_cache(kind, tmp_path / "hf"))
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", LEROBOT, *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": home, "OMP_NUM_THREADS": "1"},
        **{"capture_output": True, "text": True, "timeout": 800},
    )
    assert done.returncode == 0, done.stderr
    assert "All keys loaded successfully!" in done.stdout, done.stdout
    return np.load(tmp_path / "answer.npy")


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_that_was_saved_again(kind: str, tmp_path: Path) -> None:
    load(kind).save_pretrained(tmp_path / "ours")
    answers = answers_of_lerobot(kind, tmp_path / "ours", tmp_path)
    np.testing.assert_allclose(answers, data(kind)["action_chunk"], atol=TOLERANCES[kind], rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_relative_actions(kind: str, tmp_path: Path) -> None:
    """A chunk of LeRobot's starts from the state that it was made for, too: it differs only in later steps."""
    folder = relative_checkpoint(kind, tmp_path / "relative")
    seen = {**{name: data(kind)[name] for name in (*INPUTS, "noise")}, "task": data(kind)["task"].tolist()}
    policy = load(kind, folder)
    policy.save_pretrained(tmp_path / "ours")
    answers = answers_of_lerobot(kind, tmp_path / "ours", tmp_path)
    np.testing.assert_allclose(answers, policy.predict(seen), atol=TOLERANCES[kind], rtol=0)
    assert not np.allclose(answers, data(kind)["action_chunk"], atol=1e-2)
