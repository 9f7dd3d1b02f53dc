"""π0 and π0.5: the same numbers as LeRobot, whatever shares the batch."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from tests.checkpoints import objective_of, recorded, small_pi, write_checkpoint
from tests.helpers import GOLDEN
from tests.policies.playing import Rollout, play_together
from tests.policies.test_smolvla import INPUTS, RecordedNoise, told
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.batching import Batching
from yardarm.policies.learned.noise import NOISE
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import Tensors, tensors_of
from yardarm.policies.protocol import TASK, Look, Request
from yardarm.policies.vla.policy import DELAY, LEFT_OVER
from yardarm.tasks import EpisodeSpec

# What the numbers of each may differ by: ten steps multiply the last bits, and π0's most of all.
TOLERANCES = {"pi0": 2e-4, "pi05": 3e-5}
KINDS = tuple(TOLERANCES)
WEIGHTS = "model.safetensors"
EMBEDDING = "model.paligemma_with_expert.paligemma.model.language_model.embed_tokens.weight"
HEAD = "model.paligemma_with_expert.paligemma.lm_head.weight"


@cache
def data(kind: str) -> Mapping[str, np.ndarray]:
    return recorded(GOLDEN / kind)


@cache
def checkpoint(kind: str) -> Path:
    return write_checkpoint(GOLDEN / kind, Path(tempfile.mkdtemp()) / kind)


def load(kind: str, folder: Path | None = None, **options: Any) -> LearnedPolicy:
    return load_policy(folder or checkpoint(kind), hub_dir=GOLDEN / kind / "hub", device="cpu", **options)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def policy(kind: str) -> LearnedPolicy:
    return load(kind)


def raw(kind: str, prefix: str = "") -> dict[str, Any]:
    """What was recorded, as `predict` takes it."""
    seen = {name: data(kind)[prefix + name] for name in INPUTS}
    return {**seen, TASK: data(kind)[prefix + "task"].tolist(), NOISE: data(kind)[prefix + "noise"]}


def processed(policy: LearnedPolicy, kind: str, prefix: str = "") -> Tensors:
    """The same as the network reads it."""
    batch = {name: policy._input(name, value) for name, value in raw(kind, prefix).items()}
    if prefix:
        names = ("action", "action_is_pad", "time")
        batch |= {name: torch.from_numpy(data(kind)[prefix + name]) for name in names}
    return tensors_of(policy.preprocessor(batch))


def test_what_is_between_the_observations_and_the_first_velocity(kind: str, policy: LearnedPolicy) -> None:
    inputs, network, expected = processed(policy, kind), policy.network, data(kind)

    def close(found: torch.Tensor, name: str) -> None:
        np.testing.assert_allclose(found, expected[name], atol=1e-5, rtol=0)

    with torch.inference_mode():
        np.testing.assert_array_equal(inputs["observation.language.tokens"], expected["debug.tokens"])
        np.testing.assert_array_equal(inputs["observation.language.attention_mask"], expected["debug.token_mask"])
        close(network.seen(inputs["observation.images.front"])[:1], "debug.image0")
        prefix = network.prefix(inputs)
        close(prefix.tokens, "debug.prefix")
        np.testing.assert_array_equal(prefix.valid, expected["debug.prefix_mask"])
        keys = network.paligemma.language(prefix).layers[-1].keys.transpose(1, 2)
        valid = expected["debug.prefix_mask"][:, None, :, None]
        np.testing.assert_allclose(keys.numpy() * valid, expected["debug.last_layer_keys"] * valid, atol=1e-5, rtol=0)
        close(network.velocity(network.remember(inputs), inputs[NOISE], torch.ones(3)), "debug.first_velocity")


def test_chunks(kind: str, policy: LearnedPolicy) -> None:
    expected, tolerance = data(kind), TOLERANCES[kind]
    np.testing.assert_allclose(policy.predict(raw(kind)), expected["action_chunk"], atol=tolerance, rtol=0)
    with torch.inference_mode():
        found = policy.forward(processed(policy, kind))
    np.testing.assert_allclose(found, expected["model_chunk"], atol=tolerance, rtol=0)


def test_a_rollout_looks_only_where_it_must(kind: str, policy: LearnedPolicy) -> None:
    rollouts = []
    for row, task in enumerate(data(kind)["task"][:2]):
        seen = {name: data(kind)[f"rollout.{name}"][:, row] for name in INPUTS}
        spec = EpisodeSpec(told(str(task)), row, row)
        state = policy.start(spec)
        state.generator = RecordedNoise(data(kind)["rollout.noise"][row])
        rollouts.append(Rollout(seen, state, spec))
        rollouts[-1].look(0)
    actions = play_together(policy, rollouts, 12)
    np.testing.assert_allclose(actions, data(kind)["rollout.actions"], atol=TOLERANCES[kind], rtol=0)
    assert [rollout.looked for rollout in rollouts] == [[0, 5, 10]] * 2


def test_guided_chunks(kind: str) -> None:
    expected = data(kind)
    rtc = {
        "execution_horizon": int(expected["rtc.execution_horizon"]),
        "max_guidance_weight": float(expected["rtc.max_guidance_weight"]),
    }
    policy = load(kind, rtc_config=rtc)
    left = {
        LEFT_OVER: torch.from_numpy(expected["rtc.left_over"]),
        DELAY: torch.full((3,), int(expected["rtc.inference_delay"])),
    }
    with torch.inference_mode():
        found = policy.forward({**processed(policy, kind), **left})
    np.testing.assert_allclose(found, expected["rtc.model_chunk"], atol=TOLERANCES[kind], rtol=0)
    assert not np.allclose(found, expected["model_chunk"], atol=1e-2)


def test_loss_and_gradients(kind: str, policy: LearnedPolicy) -> None:
    expected = json.loads((GOLDEN / kind / "grads.json").read_text())
    batch = processed(policy, kind, "train.")
    loss = objective_of(policy).at(batch, batch[NOISE], batch["time"])
    loss.backward()
    assert loss.item() == pytest.approx(expected["loss"], rel=1e-4)
    found = {f"model.{name}": value for name, value in policy.network.named_parameters()}
    norms = {name: value.grad.norm().item() for name, value in found.items() if value.grad is not None}
    # The last layer's queries have one of zero there, and are left out here.
    flowing = {name: norm for name, norm in expected["per_parameter"].items() if norm}
    # What the tower's keys have in common changes nothing: its gradient is only rounding.
    assert norms == {name: pytest.approx(norm, rel=1e-3, abs=1e-4) for name, norm in flowing.items()}
    assert sum(norm**2 for norm in norms.values()) ** 0.5 == pytest.approx(expected["grad_norm"], rel=1e-4)
    assert {name for name, value in found.items() if not value.requires_grad} == set(expected["frozen"]) & found.keys()


@pytest.mark.parametrize(
    ("options", "frozen"),
    [({}, ()), ({"freeze_vision_encoder": True}, ("vision_tower",)), ({"train_expert_only": True}, (".paligemma.",))],
)
def test_what_is_frozen(kind: str, options: dict[str, bool], frozen: tuple[str, ...]) -> None:
    for name, value in load(kind, **options).network.named_parameters():
        assert value.requires_grad != any(part in name for part in frozen), name


def test_recomputed_gradients_are_the_same(kind: str) -> None:
    gradients = []
    for wanted in (False, True):
        policy = load(kind, gradient_checkpointing=wanted)
        batch = processed(policy, kind, "train.")
        objective_of(policy).at(batch, batch[NOISE], batch["time"]).backward()
        gradients.append(policy.network.action_in_proj.weight.grad)
    torch.testing.assert_close(*gradients)


# Instructions of several lengths.
TEXTS = ("push", "pick up the red cup", "open the drawer and put the bowl inside it", "push it")
shared_policy = cache(load)


def request(policy: LearnedPolicy, number: int) -> Request:
    """The first look of an episode; its number decides everything."""
    generator = np.random.default_rng(number)
    images = {name: generator.integers(256, size=(40, 40, 3), dtype=np.uint8) for name in INPUTS[:2]}
    spec = EpisodeSpec(told(TEXTS[number % len(TEXTS)]), number, number)
    look = Look(0, {**images, INPUTS[2]: generator.standard_normal(6).astype(np.float32)})
    return Request(spec, policy.start(spec), [look])


@given(st.sampled_from(KINDS), st.lists(st.integers(0, 9), min_size=1, max_size=7), st.sampled_from([1, 4]))
@settings(max_examples=12, deadline=None)
def test_an_answer_does_not_depend_on_its_neighbours(kind: str, numbers: list[int], rows: int) -> None:
    policy = shared_policy(kind)
    policy.batching = Batching(rows, threads=1)
    together = policy.infer([request(policy, number) for number in numbers])
    for number, chunk in zip(numbers, together, strict=True):
        (alone,) = policy.infer([request(policy, number)])
        np.testing.assert_array_equal(chunk.actions, alone.actions)


def test_padding_changes_no_more_than_the_last_bits(kind: str) -> None:
    policy = shared_policy(kind)
    answers = []
    for rows in (1, 2):
        policy.batching = Batching(rows, threads=1)
        answers.append(policy.infer([request(policy, 0)])[0].actions)
    np.testing.assert_allclose(*answers, atol=1e-3)


def test_a_checkpoint_that_was_saved_again_is_the_same_and_complete(
    kind: str, policy: LearnedPolicy, tmp_path: Path
) -> None:
    policy.save_pretrained(tmp_path)
    again = load_policy(tmp_path, device="cpu")
    assert again.id == policy.id
    theirs, ours = (load_file(folder / WEIGHTS) for folder in (checkpoint(kind), tmp_path))
    assert theirs.keys() == ours.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, atol=0, rtol=0)
    for name in ("config.json", "policy_preprocessor.json", "policy_postprocessor.json"):
        theirs, ours = (json.loads((folder / name).read_text()) for folder in (checkpoint(kind), tmp_path))
        steps = [
            [{key: step[key] for key in ("registry_name", "config")} for step in side.pop("steps", [])]
            for side in (theirs, ours)
        ]
        assert (ours, steps[1]) == (theirs, steps[0]), name


def older(kind: str, folder: Path, change: Any) -> Path:
    """A checkpoint of another layout."""
    shutil.copytree(checkpoint(kind), folder)
    save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS)
    return folder


def test_a_file_may_lack_the_prefix_of_its_names(kind: str, tmp_path: Path) -> None:
    folder = older(kind, tmp_path / "older", lambda own: {name.removeprefix("model."): own[name] for name in own})
    policy = load(kind, folder)
    assert policy.id == load(kind).id
    policy.save_pretrained(tmp_path / "saved")
    assert load_file(tmp_path / "saved" / WEIGHTS).keys() == load_file(checkpoint(kind) / WEIGHTS).keys()


def test_the_head_stands_for_the_embedding_where_a_file_has_only_one_of_them(kind: str, tmp_path: Path) -> None:
    def tied(own: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {**{name: value for name, value in own.items() if name != EMBEDDING}, HEAD: own[EMBEDDING]}

    policy = load(kind, older(kind, tmp_path / "tied", tied))
    assert policy.id == load(kind).id
    policy.save_pretrained(tmp_path / "saved")
    saved = load_file(tmp_path / "saved" / WEIGHTS)
    torch.testing.assert_close(saved[HEAD], saved[EMBEDDING], atol=0, rtol=0)


def test_the_other_types_name_of_the_time_mlp_is_known(kind: str, tmp_path: Path) -> None:
    names = ("model.action_time_mlp_", "model.time_mlp_")
    own, other = names if kind == "pi0" else reversed(names)
    folder = older(kind, tmp_path / "older", lambda own_: {name.replace(own, other): own_[name] for name in own_})
    assert load(kind, folder).id == load(kind).id


def test_a_tensor_that_is_missing_or_unknown_is_named(kind: str, tmp_path: Path) -> None:
    name = "model.action_in_proj.weight"
    lacking = older(kind, tmp_path / "lacking", lambda own: {key: own[key] for key in own if key != name})
    with pytest.raises(UsageError, match=f"it lacks '{name}'"):
        load(kind, lacking)
    more = older(kind, tmp_path / "more", lambda own: {**own, "model.new.weight": torch.ones(1)})
    with pytest.raises(UsageError, match=r"nothing there is called 'model\.new\.weight'"):
        load(kind, more)


def test_sizes_are_the_published_ones_unless_a_file_gives_others(kind: str, tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint(kind), tmp_path / "checkpoint")
    sizes = json.loads((folder / "sizes.json").read_text())
    sizes["gemma_300m"]["head_dim"] = 4
    (folder / "sizes.json").write_text(json.dumps(sizes))
    with pytest.raises(UsageError, match=r"gemma_300m\.head_dim must be 8, as in gemma_2b, but is 4"):
        load(kind, folder)
    (folder / "sizes.json").unlink()
    with pytest.raises(UsageError, match=r"its expert is 32 wide, where 1,024 are published; .* needs a sizes\.json"):
        load(kind, folder)


def test_tasks_may_lack_a_camera(kind: str, policy: LearnedPolicy, caplog: pytest.LogCaptureFixture) -> None:
    policy.prepare([told("push", "observation.images.wrist")])
    assert "does without observation.images.front" in caplog.text
    seen = {name: value for name, value in raw(kind).items() if name != "observation.images.front"}
    assert policy.predict(seen).shape == (3, 8, 5)


def test_empty_cameras_are_written_once(kind: str, tmp_path: Path) -> None:
    policy = small_pi(kind, empty_cameras=2)
    policy.save_pretrained(tmp_path)
    again = load_policy(tmp_path, device="cpu")
    assert again.config.to_json() == policy.config.to_json()
    assert again.config.input_features["observation.images.empty_camera_1"].shape == (3, 56, 56)
    assert again.wants.inputs == ("observation.image", "observation.state")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_action_steps": 9}, "n_action_steps must be between 1 and chunk_size=8, not 9"),
        ({"num_inference_steps": 0}, "num_inference_steps must be at least 1, not 0"),
        ({"image_resolution": [56, 28]}, "image_resolution must be a square, not 56×28"),
        ({"paligemma_variant": "gemma_7b"}, "paligemma_variant 'gemma_7b' is unknown"),
        ({"time_sampling_beta_alpha": 0.0}, "time_sampling_beta_alpha must be a positive number, not 0"),
        ({"max_state_dim": 4}, "the state has 6 numbers, more than max_state_dim=4"),
        ({"use_relative_actions": True}, "use_relative_actions cannot be changed: .* was trained with false"),
    ],
)
def test_what_cannot_work_is_refused_by_name(kind: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(kind, **options)


def test_shorter_numbers_stay_near(kind: str) -> None:
    policy = load(kind, dtype="bfloat16")
    network = policy.network
    assert network.action_in_proj.weight.dtype is torch.float32
    assert network.paligemma.language.layers[0].input_layernorm.weight.dtype is torch.float32
    assert network.expert.layers[0].mlp.up_proj.weight.dtype is torch.bfloat16
    spread = data(kind)["action_chunk"].std()
    assert np.abs(policy.predict(raw(kind)) - data(kind)["action_chunk"]).mean() < 0.2 * spread


def relative_checkpoint(kind: str, folder: Path) -> Path:
    """The recorded one with relative actions; the gripper, the last of five, stays absolute."""
    shutil.copytree(checkpoint(kind), folder)
    names = ["shoulder", "elbow", "wrist", "hand", "Gripper.pos"]
    for file, step_name in (("policy_preprocessor.json", "relative"), ("policy_postprocessor.json", "absolute")):
        stored = json.loads((folder / file).read_text())
        for step in stored["steps"]:
            if step["registry_name"] == f"{step_name}_actions_processor":
                step["config"] |= {"enabled": True, **({"action_names": names} if step_name == "relative" else {})}
        (folder / file).write_text(json.dumps(stored))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "use_relative_actions": True}))
    return folder


def test_relative_actions_are_added_to_the_state_that_a_chunk_was_made_for(kind: str, tmp_path: Path) -> None:
    policy = load(kind, relative_checkpoint(kind, tmp_path / "relative"))
    moved = policy.predict(raw(kind)) - load(kind).predict(raw(kind))
    state = data(kind)["observation.state"]
    np.testing.assert_allclose(moved[..., :4], np.repeat(state[:, None, :4], 8, axis=1), atol=1e-5)
    np.testing.assert_array_equal(moved[..., 4], 0)
