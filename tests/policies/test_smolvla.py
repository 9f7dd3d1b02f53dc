"""SmolVLA: the same numbers as LeRobot, whatever shares the batch."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from tests.checkpoints import objective_of, recorded, small_smolvla, write_checkpoint
from tests.helpers import GOLDEN
from tests.policies.playing import Rollout, play_together
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.batching import Batching
from yardarm.policies.learned.noise import NOISE
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import Tensors, tensors_of
from yardarm.policies.protocol import TASK, Look, Request
from yardarm.policies.vla.policy import DELAY, LEFT_OVER
from yardarm.tasks import ActionSpec, EnvSpec, EpisodeSpec, Feature, TaskSpec

SMOLVLA = GOLDEN / "smolvla"
HUB = SMOLVLA / "hub"
DATA = recorded(SMOLVLA)
INPUTS = ("observation.images.front", "observation.images.wrist", "observation.state")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(SMOLVLA, tmp_path_factory.mktemp("smolvla") / "checkpoint")


@pytest.fixture
def policy(folder: Path) -> LearnedPolicy:
    return load_policy(folder, hub_dir=HUB)


def raw(prefix: str = "") -> dict[str, Any]:
    """What was recorded, as `predict` takes it."""
    seen = {name: DATA[prefix + name] for name in INPUTS}
    return {**seen, TASK: DATA[prefix + "task"].tolist(), NOISE: DATA[prefix + "noise"]}


def processed(policy: LearnedPolicy, prefix: str = "") -> Tensors:
    """The same as the network reads it."""
    batch = {name: policy._input(name, value) for name, value in raw(prefix).items()}
    if prefix:
        names = ("action", "action_is_pad", "time")
        batch |= {name: torch.from_numpy(DATA[prefix + name]) for name in names}
    return tensors_of(policy.preprocessor(batch))


def close(found: torch.Tensor, name: str, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found.numpy(force=True), DATA[name], atol=tolerance, rtol=0)


def test_what_is_between_the_observations_and_the_first_velocity(policy: LearnedPolicy) -> None:
    inputs, network = processed(policy), policy.network
    with torch.inference_mode():
        np.testing.assert_array_equal(inputs["observation.language.tokens"], DATA["debug.tokens"])
        np.testing.assert_array_equal(inputs["observation.language.attention_mask"], DATA["debug.token_mask"])
        close(network.seen(inputs["observation.images.front"])[:1], "debug.image0")
        close(network.state(inputs), "debug.state")
        prefix = network.prefix(inputs)
        close(prefix.tokens, "debug.prefix")
        np.testing.assert_array_equal(prefix.valid, DATA["debug.prefix_mask"])
        keys = network.vlm["text_model"](prefix).layers[-1].keys.transpose(1, 2)
        valid = DATA["debug.prefix_mask"][:, None, :, None]
        np.testing.assert_allclose(keys.numpy() * valid, DATA["debug.last_layer_keys"] * valid, atol=1e-5, rtol=0)
        close(network.velocity(network.remember(inputs), inputs[NOISE], torch.ones(3)), "debug.first_velocity")


def test_chunks(policy: LearnedPolicy) -> None:
    np.testing.assert_allclose(policy.predict(raw()), DATA["action_chunk"], atol=3e-4, rtol=0)
    with torch.inference_mode():
        close(policy.forward(processed(policy)), "model_chunk", 3e-4)


def test_a_rollout_looks_only_where_it_must(policy: LearnedPolicy) -> None:
    rollouts = []
    for row, task in enumerate(DATA["task"][:2]):
        seen = {name: DATA[f"rollout.{name}"][:, row] for name in INPUTS}
        spec = EpisodeSpec(told(str(task)), row, row)
        state = policy.start(spec)
        state.generator = RecordedNoise(DATA["rollout.noise"][row])
        rollouts.append(Rollout(seen, state, spec))
        rollouts[-1].look(0)
    actions = play_together(policy, rollouts, 12)
    np.testing.assert_allclose(actions, DATA["rollout.actions"], atol=3e-4, rtol=0)
    assert [rollout.looked for rollout in rollouts] == [[0, 5, 10]] * 2


class RecordedNoise:
    """Stands in for an episode's generator: LeRobot was given the same noise at every inference."""

    def __init__(self, noise: np.ndarray) -> None:
        self.noise = noise

    def standard_normal(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        assert shape == self.noise.shape
        return self.noise


def told(instruction: str, *cameras: str) -> TaskSpec:
    """A task with an instruction, in a world that offers cameras and a state."""
    features = {name: Feature((40, 40, 3), "uint8") for name in cameras or INPUTS[:2]}
    env = EnvSpec("toy:Toy", {**features, INPUTS[2]: Feature((6,), "float32")}, ActionSpec(5, -1, 1))
    return TaskSpec("toy", "toy", 0, "toy", instruction, 20, 20, env)


def test_guided_chunks(folder: Path) -> None:
    rtc = {
        "execution_horizon": int(DATA["rtc.execution_horizon"]),
        "max_guidance_weight": float(DATA["rtc.max_guidance_weight"]),
    }
    policy = load_policy(folder, hub_dir=HUB, rtc_config=rtc)
    left = {
        LEFT_OVER: torch.from_numpy(DATA["rtc.left_over"]),
        DELAY: torch.full((3,), int(DATA["rtc.inference_delay"])),
    }
    with torch.inference_mode():
        close(policy.forward({**processed(policy), **left}), "rtc.model_chunk", 3e-4)
    arrays = {name: value.numpy() for name, value in left.items()}
    assert not np.allclose(policy.predict({**raw(), **arrays}), DATA["action_chunk"], atol=1e-2)


@pytest.mark.parametrize("layers", [-1, 16])
def test_more_layers_than_there_are_means_all(folder: Path, layers: int) -> None:
    policy = load_policy(folder, hub_dir=HUB, num_vlm_layers=layers)
    np.testing.assert_allclose(policy.predict(raw()), DATA["action_chunk"], atol=3e-4, rtol=0)


def test_loss_and_gradients(policy: LearnedPolicy) -> None:
    expected = json.loads((SMOLVLA / "grads.json").read_text())
    batch = processed(policy, "train.")
    loss = objective_of(policy).at(batch, batch[NOISE], batch["time"])
    loss.backward()
    assert loss.item() == pytest.approx(expected["loss"], rel=1e-4)
    found = {f"model.{name}": value for name, value in policy.network.named_parameters()}
    norms = {name: value.grad.norm().item() for name, value in found.items() if value.grad is not None}
    assert norms == {name: pytest.approx(norm, rel=1e-4) for name, norm in expected["per_parameter"].items()}
    assert sum(norm**2 for norm in norms.values()) ** 0.5 == pytest.approx(expected["grad_norm"], rel=1e-4)
    assert {name for name, value in found.items() if not value.requires_grad} == set(expected["frozen"]) & found.keys()


@pytest.mark.parametrize(
    ("options", "frozen"),
    [
        ({"train_expert_only": False}, {"vision_model", "text_model.layers.3"}),
        ({"train_expert_only": False, "freeze_vision_encoder": False}, {"text_model.layers.3"}),
        ({"train_state_proj": False}, {"vision_model", "text_model", "connector", "state_proj"}),
    ],
)
def test_what_is_frozen(folder: Path, options: dict[str, bool], frozen: set[str]) -> None:
    network = load_policy(folder, hub_dir=HUB, **options).network
    for name, value in network.named_parameters():
        assert value.requires_grad != any(part in name for part in frozen), name


def test_recomputed_gradients_are_the_same(policy: LearnedPolicy) -> None:
    batch = processed(policy, "train.")
    gradients = []
    for _ in range(2):
        policy.network.zero_grad()
        objective_of(policy).at(batch, batch[NOISE], batch["time"]).backward()
        gradients.append(policy.network.action_in_proj.weight.grad.clone())
        policy.network.checkpoint_gradients()
    torch.testing.assert_close(*gradients)


# Instructions of several lengths.
TEXTS = ("push", "pick up the red cup", "open the drawer and put the bowl inside it", "push it")


@cache
def shared_policy() -> LearnedPolicy:
    import tempfile

    return load_policy(write_checkpoint(SMOLVLA, Path(tempfile.mkdtemp()) / "checkpoint"), hub_dir=HUB)


def request(policy: LearnedPolicy, number: int) -> Request:
    """The first look of an episode; its number decides everything."""
    generator = np.random.default_rng(number)
    images = {name: generator.integers(256, size=(40, 40, 3), dtype=np.uint8) for name in INPUTS[:2]}
    spec = EpisodeSpec(told(TEXTS[number % len(TEXTS)]), number, number)
    look = Look(0, {**images, INPUTS[2]: generator.standard_normal(6).astype(np.float32)})
    return Request(spec, policy.start(spec), [look])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7), st.sampled_from([1, 4]))
@settings(max_examples=12, deadline=None)
def test_an_answer_does_not_depend_on_its_neighbours(numbers: list[int], rows: int) -> None:
    policy = shared_policy()
    policy.batching = Batching(rows, threads=1)
    together = policy.infer([request(policy, number) for number in numbers])
    for number, chunk in zip(numbers, together, strict=True):
        (alone,) = policy.infer([request(policy, number)])
        np.testing.assert_array_equal(chunk.actions, alone.actions)


def test_padding_changes_no_more_than_the_last_bits() -> None:
    policy = shared_policy()
    answers = []
    for rows in (1, 2):
        policy.batching = Batching(rows, threads=1)
        answers.append(policy.infer([request(policy, 0)])[0].actions)
    np.testing.assert_allclose(*answers, atol=1e-4)


def test_noise_is_drawn_unless_it_is_given(policy: LearnedPolicy) -> None:
    unsaid = {name: value for name, value in raw().items() if name != NOISE}
    first, second = policy.predict(unsaid), policy.predict(unsaid)
    assert first.shape == (3, 8, 5)
    assert not np.allclose(first, second)


def test_tasks_may_lack_a_camera(policy: LearnedPolicy, caplog: pytest.LogCaptureFixture) -> None:
    policy.prepare([told("push", "observation.images.wrist")])
    assert policy.wants.inputs == ("observation.images.wrist", "observation.state")
    assert "does without observation.images.front" in caplog.text
    seen = {name: value for name, value in raw().items() if name != "observation.images.front"}
    assert policy.predict(seen).shape == (3, 8, 5)
    policy.prepare([told("push")])
    assert policy.wants.inputs == INPUTS


def test_images_may_have_any_size(policy: LearnedPolicy) -> None:
    larger = {**raw(), "observation.images.wrist": DATA["observation.images.wrist"].repeat(2, 1).repeat(2, 2)}
    assert policy.predict(larger).shape == (3, 8, 5)


def test_images_must_fit_a_network_that_does_not_resize_them() -> None:
    policy = small_smolvla(64)
    policy.config.resize_imgs_with_padding = None
    policy.see_with(policy.cameras)
    assert policy.wants.resizable == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_action_steps": 9}, "n_action_steps must be between 1 and chunk_size=8, not 9"),
        ({"num_steps": 0}, "num_steps must be at least 1"),
        ({"num_expert_layers": 2}, "give self_attn_every_n_layers=0"),
        ({"num_expert_layers": 3}, "must be a multiple of num_expert_layers=3"),
        ({"max_state_dim": 4}, "the state has 6 numbers, more than max_state_dim=4"),
        ({"max_action_dim": 4}, "the action has 5 numbers, more than max_action_dim=4"),
        ({"attention_mode": "none"}, "attention_mode"),
        ({"use_delta_joint_actions_aloha": True}, "use_delta_joint_actions_aloha"),
        ({"adapt_to_pi_aloha": True}, "14 values"),
    ],
)
def test_what_cannot_work_is_refused_by_name(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_policy(folder, hub_dir=HUB, **options)


def test_a_tokenizer_of_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    shutil.copytree(HUB, hub)
    (path,) = hub.rglob("tokenizer.json")
    tokenizer = json.loads(path.read_text())
    tokenizer["added_tokens"].append({**tokenizer["added_tokens"][-1], "id": 500, "content": "<another>"})
    tokenizer["model"]["vocab"]["<another>"] = 500
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(UsageError, match="has tokens up to 500, but the language model knows 220"):
        load_policy(folder, hub_dir=hub)


def test_a_folder_of_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    shutil.copytree(HUB, hub)
    (path,) = hub.rglob("config.json")
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "text_config": {**config["text_config"], "intermediate_size": 128}}))
    with pytest.raises(UsageError, match=r"layers\.0\.mlp\..* has the shape"):
        load_policy(folder, hub_dir=hub)
    path.write_text(json.dumps({**config, "model_type": "qwen3"}))
    with pytest.raises(UsageError, match="of a model of type 'qwen3'; SmolVLA needs a 'smolvlm'"):
        load_policy(folder, hub_dir=hub)


def test_who_wrote_the_models_file_does_not_change_the_id(policy: LearnedPolicy, tmp_path: Path) -> None:
    policy.save_pretrained(tmp_path)
    path = tmp_path / "vlm_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "transformers_version": "99.9"}))
    assert load_policy(tmp_path).id == policy.id


def test_a_mistyped_option_of_the_loader_is_recognised(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"--policy.hubdir: .* did you mean 'hub_dir'"):
        load_policy(folder, hubdir=str(HUB))


def test_truncated_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(folder, cut)
    content = (folder / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match="is damaged"):
        load_policy(cut, hub_dir=HUB)


def test_a_new_policy_starts_from_a_model(folder: Path, tmp_path: Path) -> None:
    """Its vision tower, connector and text layers, in one file or in several; nothing else is read."""
    stored = load_file(folder / "model.safetensors")
    start = "model.vlm_with_expert.vlm."
    model = {name.removeprefix(start): value for name, value in stored.items() if name.startswith(start)}
    hub = tmp_path / "hub"
    shutil.copytree(HUB, hub)
    (home,) = (path.parent for path in hub.rglob("config.json"))
    save_file(model, home / "model.safetensors")
    whole = small_smolvla(hub_dir=hub, load_vlm_weights=True)
    (home / "model.safetensors").unlink()
    halves = {"a.safetensors": sorted(model)[::2], "b.safetensors": sorted(model)[1::2]}
    for file, names in halves.items():
        save_file({name: model[name] for name in names}, home / file)
    index = {name: file for file, names in halves.items() for name in names}
    (home / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    parts = small_smolvla(hub_dir=hub, load_vlm_weights=True)
    for policy in (whole, parts):
        for name, value in policy.network.vlm_with_expert["vlm"].state_dict().items():
            torch.testing.assert_close(value, model[name], atol=0, rtol=0)
    (home / "b.safetensors").unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        small_smolvla(hub_dir=hub, load_vlm_weights=True)
    (home / "model.safetensors.index.json").unlink()
    with pytest.raises(UsageError, match=r"needs model\.safetensors of HuggingFaceTB"):
        small_smolvla(hub_dir=hub, load_vlm_weights=True)


def test_a_large_checkpoint_is_held_once_while_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn for parameters that a file has, and nothing that was read holds the whole file."""
    before = torch.random.get_rng_state()
    monkeypatch.setattr(torch.random, "fork_rng", lambda **_: nullcontext())
    network = load_policy(folder, hub_dir=HUB).network
    torch.testing.assert_close(torch.random.get_rng_state(), before)
    for value in network.state_dict().values():
        assert value.untyped_storage().nbytes() == value.numel() * value.element_size()


def test_empty_cameras_are_written_as_lerobot_does(tmp_path: Path) -> None:
    policy = small_smolvla(empty_cameras=2)
    policy.save_pretrained(tmp_path / "saved")
    stored = json.loads((tmp_path / "saved/config.json").read_text())
    assert [name for name in stored["input_features"] if "empty" in name] == [
        f"observation.images.empty_camera_{number}" for number in range(2)
    ]
    assert policy.wants.inputs == ("observation.image", "observation.state")
    assert load_policy(tmp_path / "saved").config.to_json() == policy.config.to_json()


def test_tasks_with_different_cameras_are_refused(policy: LearnedPolicy) -> None:
    with pytest.raises(UsageError, match="these tasks have different cameras"):
        policy.prepare([told("push"), told("pull", "observation.images.wrist")])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({NOISE: DATA["noise"][:2]}, "every input needs the same number of rows"),
        ({TASK: ["push"]}, "every input needs the same number of rows"),
        ({LEFT_OVER: np.zeros((3, 4, 20), np.float32)}, "'left_over' must have the shape"),
        ({LEFT_OVER: np.zeros((3, 4, 5), np.float32), DELAY: np.zeros((3, 2), int)}, "'inference_delay' must have one"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(policy: LearnedPolicy, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        policy.predict({**raw(), **given})


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
def test_weights_may_be_stored_in_shorter_numbers(stored: torch.dtype, folder: Path, tmp_path: Path) -> None:
    shorter = shutil.copytree(folder, tmp_path / "shorter")
    weights = load_file(folder / "model.safetensors")
    save_file({name: value.to(stored) for name, value in weights.items()}, shorter / "model.safetensors")
    policy = load_policy(shorter, hub_dir=HUB)
    assert {value.dtype for value in policy.network.parameters()} == {torch.float32}
    assert np.isfinite(policy.predict(raw())).all()


def test_shorter_numbers_stay_near(folder: Path) -> None:
    policy = load_policy(folder, hub_dir=HUB, dtype="bfloat16")
    assert policy.network.action_in_proj.weight.dtype is torch.float32
    assert policy.network.expert.norm.weight.dtype is torch.bfloat16
    spread = DATA["action_chunk"].std()
    assert np.abs(policy.predict(raw()) - DATA["action_chunk"]).mean() < 0.05 * spread
