"""Checkpoints are loaded as they are, or refused in one line that says what is wrong with them."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import VARIANTS, small_act, small_diffusion, write_checkpoint
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.learned import loading
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.tuning import made_up
from yardarm.policies.processing import Rename


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "act"
    small_act(image=None, n_action_steps=4).save_pretrained(folder)
    return folder


@pytest.fixture
def checkpoint(original: Path, tmp_path: Path) -> Path:
    """One that a test may damage."""
    return Path(shutil.copytree(original, tmp_path / "checkpoint"))


def edit_json(path: Path, change: Callable[[Any], None]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def answers(policy: LearnedPolicy) -> np.ndarray:
    return policy.predict(made_up(policy.row_shapes(), policy.cameras, 2))


@pytest.mark.parametrize(
    "make",
    [small_act, small_diffusion, lambda: small_act(image=None), lambda: small_diffusion(use_group_norm=False)],
)
def test_what_was_saved_is_loaded_bit_for_bit(make: Callable[[], LearnedPolicy], tmp_path: Path) -> None:
    saved = make()
    saved.save_pretrained(tmp_path / "saved")
    loaded = load_policy(tmp_path / "saved")
    assert np.array_equal(answers(loaded), answers(saved))
    assert loaded.id == saved.id
    assert loaded.config == saved.config
    loaded.save_pretrained(tmp_path / "again")
    for path in (tmp_path / "saved").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_checkpoint_has_lerobots_files(original: Path) -> None:
    assert sorted(path.name for path in original.iterdir()) == [
        "config.json",
        "model.safetensors",
        "policy_postprocessor.json",
        "policy_postprocessor_step_0_unnormalizer_processor.safetensors",
        "policy_preprocessor.json",
        "policy_preprocessor_step_3_normalizer_processor.safetensors",
    ]


def test_an_id_is_the_content_not_the_place(original: Path, checkpoint: Path) -> None:
    assert load_policy(original).id == load_policy(checkpoint).id == load_policy(original, device="cpu").id
    others = [
        load_policy(original, n_action_steps=2),
        load_policy(original, dtype="bfloat16"),
        load_policy(original, rename_map={"state": "observation.state"}),
    ]
    edit_weights(checkpoint, lambda weights: weights["model.action_head.bias"].add_(1e-3))
    others.append(load_policy(checkpoint))
    assert len({load_policy(original).id, *(other.id for other in others)}) == 5


def test_any_field_can_be_overridden(original: Path) -> None:
    policy = load_policy(original, n_action_steps=1, temporal_ensemble_coeff=0.02)
    assert policy.config.temporal_ensemble_coeff == 0.02
    assert load_policy(original, type="act").config.n_action_steps == 4


def test_modes_of_normalisation_can_be_overridden(checkpoint: Path) -> None:
    for name in ("policy_preprocessor_step_3_normalizer", "policy_postprocessor_step_0_unnormalizer"):
        file = checkpoint / f"{name}_processor.safetensors"
        statistics = load_file(file)
        statistics["action.mean"] += 100
        save_file(statistics, file)
    plain = load_policy(checkpoint, normalization_mapping={"ACTION": "IDENTITY"})
    np.testing.assert_allclose(answers(load_policy(checkpoint)) - answers(plain), 100, atol=1e-3)


def test_inputs_that_a_network_does_not_read_are_not_asked_for(checkpoint: Path) -> None:
    velocity = {"observation.velocity": {"type": "STATE", "shape": [7]}}
    edit_json(checkpoint / "config.json", lambda data: data["input_features"].update(velocity))
    assert set(load_policy(checkpoint).wants.inputs) == {"observation.state", "observation.environment_state"}


PREPROCESSOR_STATISTICS = "policy_preprocessor_step_3_normalizer_processor.safetensors"
POSTPROCESSOR_STATISTICS = "policy_postprocessor_step_0_unnormalizer_processor.safetensors"


def forget(folder: Path, file: str, feature: str, *statistics: str) -> None:
    """Take the statistics of a feature out of a file; all of them, unless some are named."""
    known = load_file(folder / file)
    gone = [f"{feature}.{name}" for name in statistics] or [name for name in known if name.startswith(f"{feature}.")]
    assert gone
    save_file({name: value for name, value in known.items() if name not in gone}, folder / file)


def forget_file(folder: Path) -> None:
    edit_json(folder / "policy_preprocessor.json", lambda data: data["steps"][3].pop("state_file"))


def forget_feature(folder: Path) -> None:
    config = "config", "features", "observation.state"
    edit_json(folder / "policy_preprocessor.json", lambda data: data["steps"][3][config[0]][config[1]].pop(config[2]))


def forget_normalizer(folder: Path) -> None:
    edit_json(folder / "policy_preprocessor.json", lambda data: data["steps"].pop(3))


LACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "an input's": (lambda f: forget(f, PREPROCESSOR_STATISTICS, "observation.state"), "observation.state"),
    "the actions'": (lambda f: forget(f, POSTPROCESSOR_STATISTICS, "action"), "action"),
    "a file's": (forget_file, "observation.state"),
    "a feature that is not listed": (forget_feature, "observation.state"),
    "a normaliser": (forget_normalizer, "observation.state"),
}


@pytest.mark.parametrize("lack", LACKS)
def test_a_policy_without_statistics_is_refused_unless_it_is_allowed(
    lack: str, checkpoint: Path, caplog: pytest.LogCaptureFixture
) -> None:
    do, feature = LACKS[lack]
    do(checkpoint)
    with pytest.raises(UsageError) as caught:
        load_policy(checkpoint)
    fact = f"{checkpoint} has no normalisation statistics for '{feature}'"
    assert str(caught.value).startswith(fact)
    assert str(caught.value).endswith("--policy.allow_missing_stats=true")
    assert not caplog.text
    policy = load_policy(checkpoint, allow_missing_stats=True)
    assert f"{fact}: raw values pass" in caplog.text
    assert np.isfinite(answers(policy)).all()


def test_cameras_need_statistics_too(tmp_path: Path) -> None:
    small_act().save_pretrained(tmp_path)
    forget(tmp_path, PREPROCESSOR_STATISTICS, "observation.image")
    with pytest.raises(UsageError, match=r"no normalisation statistics for 'observation.image'"):
        load_policy(tmp_path)


def test_a_mode_that_changes_nothing_needs_no_statistics(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    forget(checkpoint, PREPROCESSOR_STATISTICS, "observation.environment_state")  # ACT's mapping does not name its kind
    forget(checkpoint, PREPROCESSOR_STATISTICS, "action")  # which only a training would read
    load_policy(checkpoint)
    forget(checkpoint, PREPROCESSOR_STATISTICS, "observation.state")
    load_policy(checkpoint, normalization_mapping={"STATE": "IDENTITY", "ACTION": "MEAN_STD"})
    assert not caplog.text


def test_a_renamed_input_has_the_statistics_of_its_own_name(checkpoint: Path) -> None:
    load_policy(checkpoint, rename_map={"robot": "observation.state"})
    forget(checkpoint, PREPROCESSOR_STATISTICS, "observation.state")
    with pytest.raises(UsageError, match=r"no normalisation statistics for 'observation.state'"):
        load_policy(checkpoint, rename_map={"robot": "observation.state"})


@pytest.mark.parametrize("allowed", [False, True])
def test_statistics_of_another_mode_are_no_statistics(allowed: bool, checkpoint: Path) -> None:
    forget(checkpoint, PREPROCESSOR_STATISTICS, "observation.state", "mean", "std")
    with pytest.raises(UsageError, match=r"the statistics of 'observation.state' lack 'mean'; they have"):
        load_policy(checkpoint, allow_missing_stats=allowed)


def test_an_old_checkpoint_may_have_no_statistics_at_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = write_checkpoint(VARIANTS / "old_act", tmp_path / "old")
    edit_weights(folder, lambda weights: [weights.pop(name) for name in list(weights) if "normalize" in name])
    with pytest.raises(
        UsageError, match=r"no normalisation statistics among its weights either; .* --policy.allow_missing"
    ):
        load_policy(folder)
    load_policy(folder, allow_missing_stats=True)
    assert "no normalisation statistics for 'observation.images.top', 'observation.state', 'action'" in caplog.text


def test_loading_leaves_torchs_random_numbers_alone(original: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load_policy(original)
    assert torch.equal(torch.rand(1), expected)


def test_half_precision_answers_nearly_the_same(original: Path) -> None:
    full, half = (load_policy(original, dtype=dtype) for dtype in ("float32", "bfloat16"))
    difference = np.abs(answers(full) - answers(half)).max()
    assert 0 < difference < 0.1


def test_amp_is_honoured(original: Path) -> None:
    difference = np.abs(answers(load_policy(original)) - answers(load_policy(original, use_amp=True))).max()
    assert 0 < difference < 0.1


def test_inputs_are_asked_for_by_the_environments_names(original: Path) -> None:
    renamed = load_policy(original, rename_map={"robot": "observation.state"})
    assert set(renamed.wants.inputs) == {"robot", "observation.environment_state"}
    seen = made_up(load_policy(original).row_shapes(), (), 2)
    other = {"robot": seen["observation.state"], "observation.environment_state": seen["observation.environment_state"]}
    assert np.array_equal(renamed.predict(other), load_policy(original).predict(seen))


def test_a_renaming_that_the_checkpoint_has_is_kept_unless_another_is_given(checkpoint: Path) -> None:
    edit_json(
        checkpoint / "policy_preprocessor.json",
        lambda data: data["steps"][0]["config"].update(rename_map={"agent": "observation.state"}),
    )
    assert "agent" in load_policy(checkpoint).wants.inputs
    policy = load_policy(checkpoint, rename_map={"robot": "observation.state"})
    assert "robot" in policy.wants.inputs
    assert policy.preprocessor.step(Rename) == Rename({"robot": "observation.state"})


def test_unknown_fields_are_ignored_with_a_debug_line(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    edit_json(checkpoint / "config.json", lambda data: data.update(from_the_future=1))
    with caplog.at_level(logging.DEBUG, logger="yardarm"):
        load_policy(checkpoint)
    assert "unknown field 'from_the_future' is ignored" in caplog.text


def test_flags_that_lerobot_writes_as_numbers_are_read(original: Path, checkpoint: Path) -> None:
    edit_json(checkpoint / "config.json", lambda data: data.update(replace_final_stride_with_dilation=0))
    assert load_policy(checkpoint).id == load_policy(original).id


def test_parameters_of_a_compiled_module_are_recognised(tmp_path: Path) -> None:
    policy = small_diffusion(image=None)
    policy.save_pretrained(tmp_path)

    def compiled(weights: dict[str, torch.Tensor]) -> None:
        for name in list(weights):
            if name.startswith("diffusion.unet."):
                weights[name.replace("unet.", "unet._orig_mod.")] = weights.pop(name)

    edit_weights(tmp_path, compiled)
    assert np.array_equal(answers(load_policy(tmp_path)), answers(policy))


@pytest.mark.parametrize(
    ("make", "computed"),
    [
        (lambda: small_act(image=None), ["model.vae_encoder_pos_enc"]),
        (small_diffusion, ["diffusion.rgb_encoder.0.pool.pos_grid"]),
        (lambda: small_diffusion(use_group_norm=False), ["diffusion.rgb_encoder.0.backbone.1.num_batches_tracked"]),
    ],
)
def test_a_file_may_omit_what_a_network_computes_itself(
    make: Callable[[], LearnedPolicy], computed: list[str], tmp_path: Path
) -> None:
    policy = make()
    policy.save_pretrained(tmp_path)
    edit_weights(tmp_path, lambda weights: [weights.pop(name) for name in computed])
    loaded = load_policy(tmp_path)
    assert np.array_equal(answers(loaded), answers(policy))
    assert loaded.id == policy.id


@pytest.mark.parametrize("name", ["running_mean", "weight"])
def test_a_batch_norms_statistics_are_learned_and_may_not_be_missing(name: str, tmp_path: Path) -> None:
    small_act().save_pretrained(tmp_path)
    edit_weights(tmp_path, lambda weights: weights.pop(f"model.backbone.bn1.{name}"))
    with pytest.raises(UsageError, match=f"it lacks 'model.backbone.bn1.{name}'"):
        load_policy(tmp_path)


def test_a_frozen_batch_norm_skips_the_count_of_batches(tmp_path: Path) -> None:
    policy = small_act()
    policy.save_pretrained(tmp_path)
    counted = {"model.backbone.bn1.num_batches_tracked": torch.tensor(7)}
    edit_weights(tmp_path, lambda weights: weights.update(counted))
    assert np.array_equal(answers(load_policy(tmp_path)), answers(policy))


def test_computed_buffers_are_lerobots_to_the_last_bit() -> None:
    """Written here as LeRobot writes them; the checkpoints that omit them were trained with these."""
    count, size = 12, 32
    angles = np.array([[place / 10000 ** (2 * (j // 2) / size) for j in range(size)] for place in range(count)])
    angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    own = small_act(image=None).network.vae_encoder_pos_enc[0]
    assert np.array_equal(own.numpy(), angles.astype(np.float32))
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 7), np.linspace(-1.0, 1.0, 7))
    grid = np.concatenate([x.reshape(-1, 1), y.reshape(-1, 1)], axis=1).astype(np.float32)
    assert np.array_equal(small_diffusion(image=224).network.rgb_encoder[0].pool.pos_grid.numpy(), grid)


def test_an_old_checkpoint_is_saved_as_a_new_one(tmp_path: Path) -> None:
    old = load_policy(write_checkpoint(VARIANTS / "old_act_underscore", tmp_path / "old"))
    old.save_pretrained(tmp_path / "new")
    assert np.array_equal(answers(load_policy(tmp_path / "new")), answers(old))


def test_devices_that_a_checkpoint_was_trained_on_are_not_looked_for(checkpoint: Path) -> None:
    edit_json(checkpoint / "config.json", lambda data: data.update(device="cuda"))
    edit_json(checkpoint / "policy_preprocessor.json", lambda data: data["steps"][2]["config"].update(device="cuda"))
    edit_json(checkpoint / "policy_postprocessor.json", lambda data: data["steps"][1]["config"].update(device="cuda"))
    assert np.isfinite(answers(load_policy(checkpoint, device="cpu"))).all()


def test_predict_says_what_it_was_given_wrongly() -> None:
    policy = small_act(image=32)
    seen = made_up(policy.row_shapes(), policy.cameras, 2)
    image = seen["observation.image"]
    for wrong, message in (
        ({"observation.state": seen["observation.state"]}, "'observation.image' is missing; the policy reads"),
        ({**seen, "observation.image": image / 255}, "must be bytes"),
        ({**seen, "observation.image": image[:, ::2]}, r"must have the shape \('batch', 32, 32, 3\), not \(2, 16"),
        ({**seen, "observation.state": torch.rand(2, 4)}, "must be a numpy array, not Tensor"),
    ):
        with pytest.raises(UsageError, match=message):
            policy.predict(wrong)


def test_diffusion_draws_noise_unless_it_is_given() -> None:
    policy = small_diffusion(image=None)
    seen = made_up(policy.row_shapes(), policy.cameras, 2)
    without = {name: value for name, value in seen.items() if name != "noise"}
    assert np.array_equal(policy.predict(seen), policy.predict(seen))
    assert policy.predict(without).shape == (2, 15, 4)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def has_nan(weights: dict[str, torch.Tensor]) -> None:
    weights["model.action_head.weight"][1, 2] = torch.nan


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no configuration": (lambda f: (f / "config.json").unlink(), "has no config.json, so it is no complete checkpoint"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors, so it is no complete"),
    "no preprocessor": (lambda f: (f / "policy_preprocessor.json").unlink(), "has no policy_preprocessor.json"),
    "no statistics": (
        lambda f: (f / "policy_preprocessor_step_3_normalizer_processor.safetensors").unlink(),
        "has no policy_preprocessor_step_3_normalizer_processor.safetensors",
    ),
    "cut weights": (lambda f: truncate(f / "model.safetensors"), "model.safetensors is damaged"),
    "a pointer": (
        lambda f: (f / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        "is only a pointer of Git LFS: `git lfs pull` fetches it",
    ),
    "empty weights": (lambda f: (f / "model.safetensors").write_bytes(b""), "model.safetensors is damaged"),
    "cut configuration": (lambda f: truncate(f / "config.json"), "config.json is damaged"),
    "no object": (lambda f: (f / "config.json").write_text("[]"), "config.json is damaged: it holds no JSON object"),
    "binary configuration": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe\x00"), "config.json is damaged"),
    "NaN": (lambda f: edit_weights(f, has_nan), "'model.action_head.weight' has values that are not finite"),
    "a shape": (
        lambda f: edit_weights(f, lambda w: w.update({"model.action_head.bias": torch.zeros(5)})),
        "'model.action_head.bias' has the shape (5,), where (4,) is expected",
    ),
    "a missing weight": (
        lambda f: edit_weights(f, lambda w: w.pop("model.action_head.bias")),
        "it lacks 'model.action_head.bias'",
    ),
    "an unknown weight": (
        lambda f: edit_weights(f, lambda w: w.update(extra=torch.zeros(1))),
        "nothing there is called 'extra'",
    ),
    "an unknown type": (
        lambda f: edit_json(f / "config.json", lambda d: d.update(type="xvla")),
        "is of a policy of type 'xvla', which is not installed here; there are act, diffusion, pi0, pi05, smolvla; if "
        "it is LeRobot's, evaluate yardarm.policies.PolicySpec(",
    ),
    "no type": (lambda f: edit_json(f / "config.json", lambda d: d.pop("type")), "names no 'type' of policy"),
    "a wrong value": (
        lambda f: edit_json(f / "config.json", lambda d: d.update(chunk_size="many")),
        "does not fit policies of type 'act': 'chunk_size' must be a whole number, got 'many'",
    ),
    "an impossible value": (
        lambda f: edit_json(f / "config.json", lambda d: d.update(n_heads=5)),
        "config.json: dim_model=32 must be a multiple of n_heads=5",
    ),
    "an unknown step": (
        lambda f: edit_json(
            f / "policy_preprocessor.json", lambda d: d["steps"].append({"registry_name": "audio_processor"})
        ),
        "policy_preprocessor.json: step 'audio_processor' is unknown here",
    ),
    "a step of somebody's own": (
        lambda f: edit_json(f / "policy_preprocessor.json", lambda d: d["steps"].append({"class": "my.module.Step"})),
        "step 'my.module.Step' is unknown here",
    ),
    "no steps": (
        lambda f: (f / "policy_preprocessor.json").write_text("{}"),
        "policy_preprocessor.json: its steps cannot be read: KeyError: 'steps'",
    ),
    "an unknown mode": (
        lambda f: edit_json(
            f / "policy_preprocessor.json", lambda d: d["steps"][3]["config"]["norm_map"].update(STATE="MEDIAN")
        ),
        "'MEDIAN' is not a valid NormalizationMode",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_gets_one_clear_line(damage: str, checkpoint: Path) -> None:
    do, message = DAMAGES[damage]
    do(checkpoint)
    with pytest.raises(UsageError) as caught:
        load_policy(checkpoint)
    assert message in str(caught.value)
    assert str(checkpoint) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_action_step": 3}, "policies of type 'act' have no such option; did you mean 'n_action_steps'?"),
        ({"n_action_steps": 11}, "n_action_steps must be between 1 and chunk_size=10, not 11"),
        ({"dtype": "float3"}, "--policy.dtype=float3 is unknown; did you mean 'float32'?"),
        ({"device": "cuda:7"}, "--policy.device=cuda:7 cannot be used here"),
        ({"device": "abacus"}, "--policy.device=abacus is unknown; auto, or one of cpu, cuda, mps"),
        ({"type": "diffusion"}, "--policy.type=diffusion: "),
        ({"revision": "main"}, "is a local folder, which has no revisions"),
        (
            {"rename_map": dict.fromkeys(("a", "b"), "observation.state")},
            "rename_map gives two inputs the same name",
        ),
        (
            {"rename_map": {"a": "b"}},
            "rename_map renames 'a' to 'b', which the policy does not read; it reads observation.environment_state",
        ),
        (
            {"rename_map": {"observation.state": "observation.environment_state"}},
            "renames 'observation.state' to 'observation.environment_state', but the policy reads 'observation.state'",
        ),
        ({"output_features": {}}, "--policy.output_features cannot be changed: it is what the checkpoint was trained"),
        ({"allow_missing_stats": 2}, "--policy.allow_missing_stats must be true or false, not 2"),
        ({"resize_images": "flase"}, "--policy.resize_images must be true or false, not flase"),
        ({"n_heads": 0}, "has a value that cannot work: ZeroDivisionError"),
        ({"chunk_size": "abc"}, "--policy.chunk_size must be a whole number, got 'abc'"),
        ({"n_action_steps": True}, "--policy.n_action_steps must be a whole number, got true"),
        ({"chunk_size": 12}, "does not fit its config.json with --policy.chunk_size=12: 'model."),
    ],
)
def test_a_wrong_option_gets_one_clear_line(options: dict[str, Any], message: str, original: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_policy(original, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("inner", ["last/pretrained_model", "checkpoints/last/pretrained_model"])
def test_a_training_runs_folder_is_told_from_the_checkpoint_in_it(inner: str, original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "run" / inner)
    with pytest.raises(UsageError, match=f"did you mean --policy.path={tmp_path / 'run' / inner}"):
        load_policy(tmp_path / "run")


def test_a_trainings_checkpoint_is_the_policy_in_it(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "last" / "pretrained_model")
    assert load_policy(tmp_path / "last").id == load_policy(original).id


def test_a_path_that_is_neither_a_folder_nor_a_hub_id_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such folder, and it is not a Hub id"):
        load_policy(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"is a file; give the folder that holds config.json"):
        load_policy(tmp_path / "file")


def test_values_that_are_drawn_until_they_fit_do_not_keep_a_network_from_being_laid_out() -> None:
    """Nothing is drawn for weights that a file has, so what is there at first must fit."""
    with loading._Uninitialized():
        values = torch.nn.init.trunc_normal_(torch.full((4,), 9.0), a=-1, b=1)
    assert values.tolist() == [0, 0, 0, 0]
