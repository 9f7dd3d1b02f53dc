"""Adapters: only they learn, they are stored beside nothing else, and LeRobot and Yardarm read each other's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import objective_of, small_act, small_diffusion
from yardarm import load_policy
from yardarm.errors import SetupError, UsageError
from yardarm.policies import PeftOptions
from yardarm.policies.adapters import add_adapter, merge_adapter, reading
from yardarm.policies.checkpoint import CheckpointFolder, push_checkpoint
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.tuning import made_up
from yardarm.policies.options import METHODS

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON")
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
ATTENTION = "[self_attn, multihead_attn]"
# Merging rounds differently; denoising blows that up.
TOLERANCE = {"act": 1e-6, "diffusion": 1e-4}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("bases")
    small_act(image=None).save_pretrained(root / "act")
    small_diffusion(image=None, noise_scheduler_type="DDIM").save_pretrained(root / "diffusion")
    return {kind: root / kind for kind in ("act", "diffusion")}


def adapted(base: Path, **options: Any) -> LearnedPolicy:
    policy = load_policy(base)
    torch.manual_seed(0)
    add_adapter(policy, PeftOptions(**{"r": 4, **options}), str(base))
    return policy


def train(policy: LearnedPolicy, steps: range = range(3)) -> None:
    """Learn from made-up data, the same at the same step."""
    objective = objective_of(policy).train()
    optimizer = torch.optim.SGD([value for value in objective.parameters() if value.requires_grad], lr=0.02)
    is_act = policy.config.type == "act"
    window = () if is_act else (policy.config.n_obs_steps,)
    for step in steps:
        torch.manual_seed(step)
        chunk = len(policy.config.action_offsets)
        batch = {name: torch.randn(4, *window, *one.shape) for name, one in policy.config.read_features.items()}
        batch |= {"action": torch.randn(4, chunk, 4), "action_is_pad": torch.zeros(4, chunk, dtype=torch.bool)}
        optimizer.zero_grad()
        objective(batch)["loss"].backward()
        optimizer.step()
    objective.eval()


def trained(base: Path, **options: Any) -> LearnedPolicy:
    policy = adapted(base, **options)
    train(policy)
    return policy


def answers(policy: LearnedPolicy) -> np.ndarray:
    return policy.predict(made_up(policy.row_shapes(), policy.cameras, 2))


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_only_the_adapter_learns(kind: str, bases: dict[str, Path]) -> None:
    policy = adapted(bases[kind])
    learning = {name for name, value in policy.network.named_parameters() if value.requires_grad}
    assert learning
    assert all(".lora_" in name for name in learning)
    before = {name: value.clone() for name, value in policy.network.state_dict().items()}
    train(policy)
    changed = {name for name, value in policy.network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert changed <= learning


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_a_new_adapter_changes_no_answer(kind: str, bases: dict[str, Path]) -> None:
    np.testing.assert_allclose(answers(adapted(bases[kind])), answers(load_policy(bases[kind])), atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_what_was_learned_is_loaded(kind: str, bases: dict[str, Path], tmp_path: Path) -> None:
    policy = trained(bases[kind])
    policy.save_pretrained(tmp_path / "saved")
    loaded, live = (load_policy(tmp_path / "saved", merge_adapter=merge) for merge in (True, False))
    assert np.abs(answers(policy) - answers(load_policy(bases[kind]))).max() > 1e-3
    np.testing.assert_allclose(answers(loaded), answers(policy), atol=TOLERANCE[kind], rtol=0)
    assert np.array_equal(answers(live), answers(policy))
    assert loaded.id == live.id == policy.id != load_policy(bases[kind]).id
    assert loaded.config == policy.config
    for number, again in enumerate((loaded, live)):
        again.save_pretrained(tmp_path / str(number))
        for path in (tmp_path / "saved").iterdir():
            assert (tmp_path / str(number) / path.name).read_bytes() == path.read_bytes()


def test_an_adapters_checkpoint_has_lerobots_files_and_names(bases: dict[str, Path], tmp_path: Path) -> None:
    trained(bases["act"]).save_pretrained(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "policy_preprocessor.json", "policy_postprocessor.json", CONFIG, WEIGHTS} <= names
    assert "model.safetensors" not in names
    assert json.loads((tmp_path / "config.json").read_text())["use_peft"] is True
    assert json.loads((tmp_path / CONFIG).read_text())["base_model_name_or_path"] == str(bases["act"])
    tensors = load_file(tmp_path / WEIGHTS)
    assert "base_model.model.model.encoder.layers.0.linear1.lora_A.weight" in tensors
    assert {value.dtype for value in tensors.values()} == {torch.float32}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("act", {}),
        ("act", {"target_modules": ATTENTION}),
        ("act", {"init_type": "pissa"}),
        ("diffusion", {"method_type": "LOKR"}),
    ],
)
def test_a_training_goes_on_bit_for_bit(
    kind: str, options: dict[str, Any], bases: dict[str, Path], tmp_path: Path
) -> None:
    whole = adapted(bases[kind], **options)
    train(whole, range(4))
    half = adapted(bases[kind], **options)
    train(half, range(2))
    answers(half)  # an evaluation on the way changes nothing
    half.save_pretrained(tmp_path)
    resumed = load_policy(tmp_path, merge_adapter=False)
    for policy in (half, resumed):
        train(policy, range(2, 4))
        assert policy.stored_tensors().keys() == whole.stored_tensors().keys()
        assert all(torch.equal(value, whole.stored_tensors()[name]) for name, value in policy.stored_tensors().items())
        assert policy.id == whole.id


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_every_method_is_saved_and_loaded(kind: str, method: str, bases: dict[str, Path], tmp_path: Path) -> None:
    policy = trained(bases[kind], method_type=method.lower())
    policy.save_pretrained(tmp_path)
    loaded = load_policy(tmp_path)
    assert loaded.describe()["adapter"] == method
    np.testing.assert_allclose(answers(loaded), answers(policy), atol=TOLERANCE[kind], rtol=0)


@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": "all-linear"},
        {"target_modules": "linear1"},
        {"target_modules": r"model\.encoder\..*linear[12]"},
        {"target_modules": ATTENTION, "lora_alpha": 16},
        {"init_type": "gaussian"},
        {"init_type": "olora"},
        {"init_type": "orthogonal"},
        {"method_type": "MISS", "init_type": "bat", "target_modules": "[linear1, linear2]"},
    ],
)
def test_every_option_is_saved_and_loaded(options: dict[str, Any], bases: dict[str, Path], tmp_path: Path) -> None:
    policy = trained(bases["act"], **options)
    policy.save_pretrained(tmp_path)
    np.testing.assert_allclose(answers(load_policy(tmp_path)), answers(policy), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "method", "modules"),
    [("act", "LORA", "[action_head, decoder_pos_embed]"), ("diffusion", "LOKR", "diffusion_step_encoder")],
)
def test_modules_that_are_trained_as_a_whole_are_saved(
    kind: str, method: str, modules: str, bases: dict[str, Path], tmp_path: Path
) -> None:
    policy = trained(bases[kind], method_type=method, full_training_modules=modules)
    policy.save_pretrained(tmp_path)
    before, after = load_file(bases[kind] / "model.safetensors"), load_file(tmp_path / WEIGHTS)
    wholes = {name for name in after if f".{method.lower()}_" not in name}
    ends = modules.strip("[]").split(", ")
    assert wholes == {f"base_model.model.{name}" for name in before if any(f".{end}." in name for end in ends)}
    assert not any(torch.equal(after[name], before[name.removeprefix("base_model.model.")]) for name in wholes)
    np.testing.assert_allclose(answers(load_policy(tmp_path)), answers(policy), atol=TOLERANCE[kind], rtol=0)


def test_statistics_of_the_base_stay_as_they_were(tmp_path: Path) -> None:
    small_diffusion(use_group_norm=False, pretrained_backbone_weights=None).save_pretrained(tmp_path)
    policy = adapted(tmp_path)
    before = {name: value.clone() for name, value in policy.network.named_buffers()}
    policy.network.train()
    policy.network.rgb_encoder[0](torch.rand(2, 3, 32, 32))
    assert any(name.endswith("running_mean") for name in before)
    assert all(torch.equal(value, before[name]) for name, value in policy.network.named_buffers())


def test_adapters_that_attention_does_not_call_do_nothing_when_merged(bases: dict[str, Path], tmp_path: Path) -> None:
    policy = adapted(bases["act"])
    policy.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    layer = "base_model.model.model.encoder.layers.0.self_attn.out_proj"
    tensors |= {f"{layer}.lora_A.weight": torch.ones(4, 32), f"{layer}.lora_B.weight": torch.ones(32, 4)}
    save_file(tensors, tmp_path / WEIGHTS)
    targets = json.loads((tmp_path / CONFIG).read_text())["target_modules"]
    edit_json(tmp_path / CONFIG, target_modules=[*targets, layer.removeprefix("base_model.model.")])
    merged, live = (load_policy(tmp_path, merge_adapter=merge) for merge in (True, False))
    np.testing.assert_allclose(answers(merged), answers(live), atol=1e-6, rtol=0)


def test_a_merged_adapter_leaves_a_whole_policy(bases: dict[str, Path], tmp_path: Path) -> None:
    policy = trained(bases["act"], full_training_modules="action_head")
    expected = answers(policy)
    merge_adapter(policy)
    assert all(value.requires_grad for value in policy.network.parameters())
    policy.save_pretrained(tmp_path)
    whole = load_policy(tmp_path)
    assert whole.adapter is None
    assert not (tmp_path / WEIGHTS).exists()
    np.testing.assert_allclose(answers(whole), expected, atol=1e-6, rtol=0)
    with pytest.raises(UsageError, match="has no adapter that could be merged"):
        merge_adapter(whole)


def test_half_precision_answers_nearly_the_same(bases: dict[str, Path], tmp_path: Path) -> None:
    policy = trained(bases["act"])
    policy.save_pretrained(tmp_path)
    half = load_policy(tmp_path, dtype="bfloat16")
    assert 0 < np.abs(answers(half) - answers(policy)).max() < 0.1
    half.save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (tmp_path / WEIGHTS).read_bytes()


def test_a_policy_says_that_it_has_an_adapter(bases: dict[str, Path], tmp_path: Path) -> None:
    trained(bases["act"]).save_pretrained(tmp_path)
    described = load_policy(tmp_path).describe()
    assert (described["adapter"], described["base"]) == ("LORA", str(bases["act"]))
    assert "adapter" not in load_policy(bases["act"]).describe()


def test_an_id_depends_on_the_base_and_on_the_scale(bases: dict[str, Path], tmp_path: Path) -> None:
    trained(bases["act"]).save_pretrained(tmp_path / "adapter")
    base = Path(shutil.copytree(bases["act"], tmp_path / "base"))
    edit_json(tmp_path / "adapter" / CONFIG, base_model_name_or_path=str(base))
    same = load_policy(tmp_path / "adapter").id
    edit_json(tmp_path / "adapter" / CONFIG, base_model_name_or_path=str(bases["act"]))
    assert load_policy(tmp_path / "adapter").id == same
    edit_json(tmp_path / "adapter" / CONFIG, lora_alpha=9)
    scaled = load_policy(tmp_path / "adapter").id
    weights = load_file(base / "model.safetensors")
    weights["model.action_head.bias"] += 1e-3
    save_file(weights, base / "model.safetensors")
    edit_json(tmp_path / "adapter" / CONFIG, lora_alpha=8, base_model_name_or_path=str(base))
    assert len({same, scaled, load_policy(tmp_path / "adapter").id}) == 3


@pytest.mark.parametrize("written", ["../base", "base"])
def test_a_base_is_found_beside_the_adapter_and_from_here(
    written: str, bases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(bases["act"]).save_pretrained(tmp_path / "adapter")
    shutil.copytree(bases["act"], tmp_path / "base")
    edit_json(tmp_path / "adapter" / CONFIG, base_model_name_or_path=written)
    monkeypatch.chdir(tmp_path if written == "base" else "/")
    assert load_policy(tmp_path / "adapter").describe()["base"] == written


def test_a_base_on_the_hub_is_fetched_in_its_very_version(
    bases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(name: str, revision: str | None) -> CheckpointFolder:
        asked.append((name, revision))
        return CheckpointFolder(bases["act"], commit=revision)

    monkeypatch.setattr(reading, "find_checkpoint", fetch)
    policy = load_policy(bases["act"])
    policy.source = type(policy.source)("owner/act", "0123abc")
    add_adapter(policy, PeftOptions(), "owner/act")
    policy.save_pretrained(tmp_path)
    assert load_policy(tmp_path).adapter is not None
    assert asked == [("owner/act", "0123abc")]


def test_who_pushes_an_adapter_of_a_folder_is_told_that_others_need_the_folder(
    bases: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*arguments: Any, **options: Any) -> None:
        raise OSError("away")

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", away)
    with pytest.raises(UsageError, match="cannot be pushed"):
        push_checkpoint(adapted(bases["act"]), "owner/adapter", private=None, message="")
    assert f"to load owner/adapter, one needs its base policy, too: here it is the folder {bases['act']}" in caplog.text


def test_loading_leaves_torchs_random_numbers_alone(bases: dict[str, Path], tmp_path: Path) -> None:
    trained(bases["act"]).save_pretrained(tmp_path)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load_policy(tmp_path)
    assert torch.equal(torch.rand(1), expected)


def test_without_peft_one_is_told_how_to_get_it(
    bases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(bases["act"]).save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "peft", None)
    for load in (lambda: load_policy(tmp_path), lambda: adapted(bases["act"])):
        with pytest.raises(SetupError, match=r"pip install 'yardarm\[peft\]'"):
            load()


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"method_type": "LORE"}, "--peft.method_type=LORE is unknown; did you mean 'LORA'? one of LORA, LOHA"),
    ({"method_type": "PREFIX_TUNING"}, "--peft.method_type=PREFIX_TUNING is unknown"),
    ({"r": 0}, "--peft.r must be at least 1, got 0"),
    ({"lora_alpha": 0}, "--peft.lora_alpha must be at least 1, got 0"),
    ({"lora_alpha": 8, "method_type": "MISS"}, "--peft.lora_alpha is for LORA, not for MISS"),
    ({"init_type": "gausian"}, "--peft.init_type=gausian is unknown for LORA; did you mean 'gaussian'?"),
    ({"init_type": "gaussian", "method_type": "LOHA"}, "LOHA starts in one way only; omit it"),
    (
        {"target_modules": "liner1"},
        "--peft.target_modules=liner1 is the end of no module's name; closest are 'linear1'",
    ),
    ({"target_modules": ["linear1", "nothing"]}, "--peft.target_modules=nothing is the end of no module's name"),
    ({"target_modules": "linear1,linear2"}, "a list is written [a, b]"),
    ({"target_modules": "(linear"}, "--peft.target_modules=(linear is no regular expression: missing )"),
    ({"target_modules": "norm1"}, "norm1' is of the kind LayerNorm, which LORA cannot adapt"),
    ({"target_modules": "self_attn", "method_type": "MISS"}, "is of the kind MultiheadAttention, which MISS cannot"),
    ({"target_modules": "decoder_pos_embed"}, "'model.decoder_pos_embed' is of the kind Embedding, which LORA cannot"),
    ({"target_modules": "out_proj"}, "so an adapter on it would do nothing; give the attention itself: 'self_attn'"),
    ({"full_training_modules": "head_of_actions"}, "--peft.full_training_modules=head_of_actions is the end of no"),
    ({"target_modules": "linear1", "full_training_modules": "layers"}, "leaves no layer that an adapter could be put"),
    ({"init_type": "orthogonal", "r": 3}, "Orthogonal initialization requires the LoRA rank to be even, got 3"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_a_wrong_flag_gets_one_clear_line(options: dict[str, Any], message: str, bases: dict[str, Path]) -> None:
    with pytest.raises(UsageError) as caught:
        adapted(bases["act"], **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_second_adapter_is_refused(bases: dict[str, Path]) -> None:
    policy = adapted(bases["act"])
    with pytest.raises(UsageError, match="has an adapter already"):
        add_adapter(policy, PeftOptions(), str(bases["act"]))


def test_an_adapter_does_not_overwrite_its_base(bases: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="holds the base policy, which the adapter needs"):
        adapted(bases["act"]).save_pretrained(bases["act"])


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def edit_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


A_TENSOR = "base_model.model.model.action_head.lora_A.weight"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no adapter's configuration": (lambda f: (f / CONFIG).unlink(), "has no adapter_config.json, so it is no complete"),
    "no adapter": (lambda f: (f / WEIGHTS).unlink(), "has no adapter_model.safetensors, so it is no complete"),
    "a cut configuration": (lambda f: truncate(f / CONFIG), "adapter_config.json is damaged"),
    "a cut adapter": (lambda f: truncate(f / WEIGHTS), "adapter_model.safetensors is damaged"),
    "NaN": (lambda f: edit_tensors(f, lambda t: t[A_TENSOR].fill_(torch.nan)), "values that are not finite"),
    "a missing tensor": (lambda f: edit_tensors(f, lambda t: t.pop(A_TENSOR)), f"it lacks '{A_TENSOR}'"),
    "an unknown tensor": (
        lambda f: edit_tensors(f, lambda t: t.update(x=torch.ones(1))),
        "nothing there is called 'x'",
    ),
    "another rank": (lambda f: edit_json(f / CONFIG, r=5), "has the shape (4, 32), where (5, 32) is expected"),
    "no base": (lambda f: edit_json(f / CONFIG, base_model_name_or_path=None), "names no base policy"),
    "a base that is away": (
        lambda f: edit_json(f / CONFIG, base_model_name_or_path="/nowhere/base"),
        "its base policy /nowhere/base does not exist; put it there, or correct base_model_name_or_path",
    ),
    "itself as base": (
        lambda f: edit_json(f / CONFIG, base_model_name_or_path=str(f)),
        "is an adapter's checkpoint itself, not a whole policy",
    ),
    "another method": (lambda f: edit_json(f / CONFIG, peft_type="LORE"), "knows no adapters of type 'LORE'"),
    "a module to import": (
        lambda f: edit_json(f / CONFIG, megatron_config={"a": 1}, megatron_core="antigravity"),
        "adapters for Megatron's layers are not for policies",
    ),
    "a method for language": (
        lambda f: edit_json(f / CONFIG, peft_type="PROMPT_TUNING"),
        "adapters of type 'PROMPT_TUNING' are for language models",
    ),
    "an impossible value": (
        lambda f: edit_json(f / CONFIG, target_modules=["elsewhere"]),
        "Target modules {'elsewhere'} not found",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_gets_one_clear_line(damage: str, bases: dict[str, Path], tmp_path: Path) -> None:
    do, message = DAMAGES[damage]
    adapted(bases["act"]).save_pretrained(tmp_path)
    do(tmp_path)
    with pytest.raises(UsageError) as caught:
        load_policy(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_whether_there_is_an_adapter_cannot_be_overridden(bases: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--policy\.use_peft cannot be changed"):
        load_policy(bases["act"], use_peft=True)
    with pytest.raises(UsageError, match=r"--policy\.merge_adapter must be true or false, not 1"):
        load_policy(bases["act"], merge_adapter=1)


# What LeRobot's factory does with an adapter's checkpoint, and its training with a new one.
LEROBOT = """
import sys
import numpy as np, torch
from pathlib import Path
from lerobot.configs.policies import PreTrainedConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from peft import PeftConfig, PeftModel

def chunk(policy, config, folder):
    pre, post = make_pre_post_processors(config, pretrained_path=str(folder))
    batch = pre({name: torch.from_numpy(value) for name, value in seen.items() if name != "noise"})
    policy.eval()
    with torch.no_grad():
        if config.type == "act":
            return post(policy.predict_action_chunk(batch)).numpy()
        return post(policy.diffusion.generate_actions(batch, noise=torch.from_numpy(seen["noise"][:, 0]))).numpy()

root = Path(sys.argv[1])
for kind in ("act", "diffusion"):
    seen = dict(np.load(root / f"{kind}.npz"))
    ours, theirs = str(root / kind / "ours"), str(root / kind / "theirs")
    config = PreTrainedConfig.from_pretrained(ours)
    assert config.use_peft
    config.device = "cpu"
    adapter = PeftConfig.from_pretrained(ours)
    kind_of_policy = get_policy_class(config.type)
    policy = kind_of_policy.from_pretrained(adapter.base_model_name_or_path, config=config, revision=adapter.revision)
    policy = PeftModel.from_pretrained(policy, ours, config=adapter, is_trainable=True)
    np.save(root / f"{kind}_ours.npy", chunk(policy, config, ours))

    base = adapter.base_model_name_or_path
    config = PreTrainedConfig.from_pretrained(base)
    config.pretrained_path, config.device = base, "cpu"
    policy = kind_of_policy.from_pretrained(base, config=config)
    flags = {"method_type": "LORA", "r": 4, "target_modules": "all-linear"}
    policy = policy.wrap_with_peft(peft_cli_overrides=flags)
    torch.manual_seed(0)
    for name, value in policy.named_parameters():
        if value.requires_grad and "out_proj" not in name:
            value.data += 0.02 * torch.randn_like(value)
    policy.save_pretrained(theirs)
    policy.config.save_pretrained(theirs)
    for part in make_pre_post_processors(config, pretrained_path=base):
        part.save_pretrained(theirs)
    np.save(root / f"{kind}_theirs.npy", chunk(policy, config, theirs))
"""


@pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no interpreter that has LeRobot and peft")
def test_lerobot_loads_ours_and_we_load_lerobots(bases: dict[str, Path], tmp_path: Path) -> None:
    for kind, base in bases.items():
        policy = trained(base)
        policy.save_pretrained(tmp_path / kind / "ours")
        np.savez(tmp_path / f"{kind}.npz", **made_up(policy.row_shapes(), (), 2))
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", LEROBOT, str(tmp_path)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        **{"capture_output": True, "text": True, "timeout": 200},
    )
    assert done.returncode == 0, done.stderr
    for kind in bases:
        for whose in ("ours", "theirs"):
            expected = np.load(tmp_path / f"{kind}_{whose}.npy")
            found = answers(load_policy(tmp_path / kind / whose))[:, : expected.shape[1]]
            np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)
