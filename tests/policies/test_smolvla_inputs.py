"""SmolVLA with wrong files and options: each gets one line that names what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from tests.checkpoints import recorded, small_smolvla, write_checkpoint
from tests.helpers import GOLDEN
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.learned import loading
from yardarm.policies.learned.noise import NOISE
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import TOKENS, Tokenize
from yardarm.policies.protocol import TASK
from yardarm.policies.smolvla import SMOLVLA as ARCHITECTURE
from yardarm.policies.smolvla import SmolVlaConfig
from yardarm.policies.smolvla.sizes import VlmSizes
from yardarm.policies.vla.model_file import ModelSettings
from yardarm.policies.vla.vision import smolvlm_tower

SMOLVLA = GOLDEN / "smolvla"
HUB = SMOLVLA / "hub"
MODEL = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"
EMBEDDING = "model.text_model.embed_tokens.weight"
INPUTS = ("observation.images.front", "observation.images.wrist", "observation.state")
Changed = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(SMOLVLA, tmp_path_factory.mktemp("smolvla") / "checkpoint")


@pytest.fixture
def checkpoint(folder: Path, tmp_path: Path) -> Path:
    """One to change."""
    return shutil.copytree(folder, tmp_path / "checkpoint")


def edit(path: Path, change: Changed) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps(change(data) or data))


def sizes(path: Path) -> VlmSizes:
    return VlmSizes.of(ModelSettings.read(path))


def answers(policy: LearnedPolicy) -> np.ndarray:
    data = recorded(SMOLVLA)
    return policy.predict({**{name: data[name] for name in INPUTS}, TASK: data["task"].tolist(), NOISE: data["noise"]})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The vision-language model's file, to be changed."""
    return shutil.copytree(HUB, tmp_path / "hub") / MODEL / "config.json"


@pytest.mark.parametrize(
    ("section", "field", "value", "message"),
    [
        ("text_config", "hidden_size", "64", 'must be a whole number ≥ 1, but is "64"'),
        ("text_config", "hidden_size", 64.5, "must be a whole number ≥ 1, but is 64.5"),
        ("text_config", "hidden_size", None, "must be a whole number ≥ 1, but is null"),
        ("text_config", "num_attention_heads", -4, "must be a whole number ≥ 1, but is -4"),
        ("text_config", "num_key_value_heads", 3, "must be a divisor of num_attention_heads=4, but is 3"),
        ("text_config", "head_dim", 15, "must be even"),
        ("text_config", "num_hidden_layers", 0, "must be a whole number ≥ 1, but is 0"),
        ("text_config", "num_hidden_layers", True, "must be a whole number ≥ 1, but is true"),
        ("text_config", "vocab_size", [], r"must be a whole number ≥ 1, but is \[\]"),
        ("text_config", "rms_norm_eps", "x", 'must be a positive number, but is "x"'),
        ("text_config", "hidden_act", "gelu", 'must be "silu", but is "gelu"'),
        ("text_config", "attention_bias", True, "must be false, but is true"),
        ("text_config", "mlp_bias", True, "must be false, but is true"),
        ("vision_config", "hidden_size", "32", 'must be a whole number ≥ 1, but is "32"'),
        ("vision_config", "num_attention_heads", 3, "must be a multiple of num_attention_heads=3, but is 32"),
        ("vision_config", "hidden_act", "nope", 'must be one of gelu_pytorch_tanh, .*, but is "nope"'),
        ("vision_config", "patch_size", 0, "must be a whole number ≥ 1, but is 0"),
        ("vision_config", "patch_size", [8, 8], r"must be a whole number ≥ 1, but is \[8, 8\]"),
        ("vision_config", "image_size", 4, "must be at least patch_size=8, but is 4"),
        ("vision_config", "num_channels", 1, "must be 3, but is 1"),
        ("vision_config", "attention_dropout", "x", "must be a number from 0 to below 1"),
        (None, "scale_factor", "4", 'must be a whole number ≥ 1, but is "4"'),
        (None, "scale_factor", 0, "must be a whole number ≥ 1, but is 0"),
        (None, "text_config", None, "must be an object, but is null"),
        (None, "vision_config", [], r"must be an object, but is \[\]"),
    ],
)
def test_a_models_file_is_read_with_types(
    section: str | None, field: str, value: Any, message: str, model: Path
) -> None:
    edit(model, lambda data: (data[section] if section else data).update({field: value}))
    with pytest.raises(UsageError, match=message) as refusal:
        sizes(model)
    assert str(refusal.value).startswith(f"{model}: {section + '.' if section else ''}")


def test_what_a_models_file_must_have(model: Path) -> None:
    edit(model, lambda data: data.pop("vision_config") and None)
    with pytest.raises(UsageError, match="vision_config must be an object, but is missing"):
        sizes(model)
    for content in ("[1]", "null", "{"):
        model.write_text(content)
        with pytest.raises(UsageError, match=f"{model} is "):
            sizes(model)


def test_a_models_file_may_omit_what_transformers_knows(model: Path) -> None:
    edit(model, lambda data: data["text_config"].pop("rms_norm_eps") and None)
    edit(model, lambda data: data["text_config"].update(head_dim=None))
    assert (sizes(model).text.norm_eps, sizes(model).text.head_size) == (1e-6, 16)


@pytest.mark.parametrize("content", ["[]", "null", '{"model_type": "smolvlm", "text_config": {"hidden_size": "x"}}'])
def test_a_checkpoints_copy_of_it_is_read_alike(content: str, checkpoint: Path) -> None:
    (checkpoint / "vlm_config.json").write_text(content)
    with pytest.raises(UsageError, match=f"{checkpoint}/vlm_config.json"):
        load_policy(checkpoint, hub_dir=HUB)


@pytest.mark.parametrize("brackets", [[99999, 5], [5, "x"], [5], 5, [True, 5], [-1, 5]])
def test_brackets_are_two_tokens(brackets: Any, checkpoint: Path) -> None:
    shutil.copy(HUB / MODEL / "config.json", checkpoint / "vlm_config.json")
    edit(checkpoint / "vlm_config.json", lambda data: data.update(yardarm_image_brackets=brackets))
    with pytest.raises(UsageError, match="yardarm_image_brackets must be two whole numbers below vocab_size=220, but"):
        load_policy(checkpoint, hub_dir=HUB, add_image_special_tokens=True)


@pytest.mark.parametrize("name", ["attn_implementation", "_attn_implementation", "auto_map", "torch_dtype"])
def test_a_models_file_does_not_choose_what_computes(name: str, folder: Path, model: Path) -> None:
    expected = answers(load_policy(folder, hub_dir=HUB))
    edit(model, lambda data: data["vision_config"].update({name: "evil/kernel"}))
    policy = load_policy(folder, hub_dir=model.parents[2])
    np.testing.assert_array_equal(answers(policy), expected)
    assert smolvlm_tower(sizes(model).vision).config._attn_implementation == "sdpa"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resize_imgs_with_padding": [0, 0]}, r"resize_imgs_with_padding must be two positive numbers, not \(0, 0\)"),
        ({"resize_imgs_with_padding": [-64, 64]}, r"resize_imgs_with_padding must be two positive numbers"),
        ({"resize_imgs_with_padding": [64, 32]}, "resize_imgs_with_padding of 64×32 gives 8×4 patches of 8×8: SmolVLM"),
        ({"resize_imgs_with_padding": [8, 8]}, "gives 1×1 patches .*, with a multiple of 4"),
        ({"resize_imgs_with_padding": [48, 48]}, "gives 6×6 patches .*, with a multiple of 4"),
        ({"resize_imgs_with_padding": None}, "all cameras must have one size, not 64×48, 40×40"),
        ({"min_period": 0.0}, "min_period must be a positive number, not 0.0"),
        ({"max_period": -1.0}, "max_period must be a positive number, not -1.0"),
        ({"expert_width_multiplier": 0.0}, "expert_width_multiplier must be a positive number, not 0.0"),
        ({"expert_width_multiplier": float("inf")}, "expert_width_multiplier must be a positive number, not inf"),
        ({"expert_width_multiplier": 0.001}, "of 64 gives the expert the width 0, which must be even"),
        ({"expert_width_multiplier": 0.52}, "of 64 gives the expert the width 33, which must be even"),
        ({"empty_cameras": -1}, "empty_cameras must be at least 0, not -1"),
        ({"n_obs_steps": 2}, "n_obs_steps must be 1, not 2"),
        ({"tokenizer_max_length": 0}, "tokenizer_max_length must be a positive number, not 0"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=message):
        load_policy(folder, hub_dir=HUB, **options)


def test_images_that_fit_need_no_resizing(checkpoint: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        for name in INPUTS[:2]:
            data["input_features"][name]["shape"] = [3, 32, 32]
        data["resize_imgs_with_padding"] = None

    edit(checkpoint / "config.json", change)
    policy = load_policy(checkpoint, hub_dir=HUB)
    seen = {name: np.zeros((1, 32, 32, 3), np.uint8) for name in INPUTS[:2]}
    state = np.zeros((1, 6), np.float32)
    assert policy.predict({**seen, INPUTS[2]: state, TASK: ["push"]}).shape == (1, 8, 5)


def tokenizing(policy: LearnedPolicy) -> Tokenize:
    step = policy.preprocessor.step(Tokenize)
    assert step is not None
    return step


def test_options_of_the_text_count_in_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    before = tokenizing(load_policy(folder, hub_dir=HUB))
    assert (before.max_length, before.padding) == (24, "longest")
    policy = load_policy(folder, hub_dir=HUB, tokenizer_max_length=3, pad_language_to="max_length")
    after = tokenizing(policy)
    assert (after.max_length, after.padding) == (3, "max_length")
    assert after({TASK: ["open the drawer", "a"]})[TOKENS].shape == (2, 3)
    policy.save_pretrained(tmp_path / "saved")
    assert tokenizing(load_policy(tmp_path / "saved")) == after


def test_options_that_would_have_no_effect_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"load_vlm_weights=true is for new policies: .* has weights of its own; omit"):
        load_policy(folder, hub_dir=HUB, load_vlm_weights=True)
    load_policy(folder, hub_dir=HUB).save_pretrained(tmp_path / "saved")
    with pytest.raises(UsageError, match=r"vlm_model_name=no/such has no effect: .*vlm_config.json says of which"):
        load_policy(tmp_path / "saved", vlm_model_name="no/such")
    # A training's file repeats what its checkpoint says.
    assert load_policy(tmp_path / "saved", vlm_model_name=MODEL, load_vlm_weights=False, use_cache=False)
    edit(tmp_path / "saved" / "config.json", lambda data: data.update(load_vlm_weights=True))
    assert load_policy(tmp_path / "saved", load_vlm_weights=True)


def test_another_model_may_be_named_where_none_is_kept(folder: Path, model: Path) -> None:
    shutil.copytree(model.parent, model.parents[1] / "other")
    model.write_text("damaged")
    assert load_policy(folder, hub_dir=model.parents[2], vlm_model_name="HuggingFaceTB/other")


def test_nothing_is_compiled_with_a_word(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_policy(folder, hub_dir=HUB, compile_model=True)
    assert "compile_model=true has no effect: nothing is compiled, the results are the same" in caplog.text


def test_a_preprocessor_must_make_tokens(checkpoint: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["steps"] = [step for step in data["steps"] if step["registry_name"] != "tokenizer_processor"]

    edit(checkpoint / "policy_preprocessor.json", change)
    with pytest.raises(UsageError, match=r"policy_preprocessor.json has no step 'tokenizer_processor', which policies"):
        load_policy(checkpoint, hub_dir=HUB)


@pytest.mark.parametrize(
    "content", [[], {}, {"weight_map": [1]}, {"weight_map": "x"}, {"weight_map": {EMBEDDING: 5}}], ids=str
)
def test_an_index_of_weights_must_name_files(content: Any, model: Path) -> None:
    (model.parent / "model.safetensors.index.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"cannot be read: .*'weight_map' in .*index.json must give a file's name"):
        small_smolvla(hub_dir=model.parents[2], load_vlm_weights=True)


def test_a_network_that_cannot_be_made_is_refused_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(config: SmolVlaConfig) -> nn.Module:
        return {}[config.num_steps]

    monkeypatch.setattr(loading, "find_architecture", lambda name: replace(ARCHITECTURE, network=broken))
    with pytest.raises(UsageError, match="these options do not make a policy of type 'smolvla': KeyError: 10"):
        load_policy(folder, hub_dir=HUB)
