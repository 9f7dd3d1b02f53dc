"""The same actions as LeRobot, for every option of ACT and Diffusion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoints import POLICY_IDS, VARIANTS, objective_of, recorded, write_checkpoint
from tests.helpers import GOLDEN
from tests.policies.playing import play_together, rollouts_of
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies.learned.noise import NOISE

TRAINING = ("act_training", "diff_training")
NAMES = sorted(folder.name for folder in VARIANTS.iterdir() if folder.is_dir() and folder.name not in TRAINING)
# Large encoders, and what differs from another one in a detail.
LONG = tuple(name for name in NAMES if "resnet" in name or "quantile10" in name or "_beta" in name or "ddpm" in name)

# LeRobot lets raw values pass; here that must be allowed.
WITHOUT_STATISTICS = ("act_missing_stats", "act_missing_action_stats")


def observations(policy: Any, data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the policy reads; noise as (row, draw, horizon, action)."""
    seen = {name: data[name] for name in policy.wants.inputs}
    if "noise" in data:
        seen[NOISE] = np.stack([data["noise"], *data.get("step_noise", [])], axis=1)
    return seen


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]
)
def test_a_chunk_and_the_policys_id_are_the_same(name: str, tmp_path: Path) -> None:
    folder = write_checkpoint(VARIANTS / name, tmp_path / name)
    policy = load_policy(folder, allow_missing_stats=name in WITHOUT_STATISTICS)
    assert policy.id == POLICY_IDS[f"lerobot_variants/{name}"]
    data = recorded(VARIANTS / name)
    chunk = policy.predict(observations(policy, data))
    expected = data["action_chunk"]
    tolerance = 1e-3 if "noise" in data else 1e-4
    np.testing.assert_allclose(chunk[:, : expected.shape[1]], expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("name", WITHOUT_STATISTICS)
def test_missing_statistics_are_refused_by_default(name: str, tmp_path: Path) -> None:
    folder = write_checkpoint(VARIANTS / name, tmp_path / name)
    with pytest.raises(UsageError, match=f"{folder} has no normalisation statistics for '"):
        load_policy(folder)


def test_a_batch_of_raw_images_gives_acts_chunks(tmp_path: Path) -> None:
    policy = load_policy(write_checkpoint(GOLDEN / "act", tmp_path / "act"))
    data = recorded(GOLDEN / "act")
    np.testing.assert_allclose(policy.predict(observations(policy, data)), data["action_chunk"], atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("name", "looked"),
    [("act_rollout", [0, 8, 16]), ("act_temporal_ensemble", list(range(15)))],
)
def test_acts_rollout_is_the_same_while_it_looks_only_where_it_must(
    name: str, looked: list[int], tmp_path: Path
) -> None:
    policy = load_policy(write_checkpoint(GOLDEN / name, tmp_path / name))
    data = recorded(GOLDEN / name)
    rollouts = rollouts_of(policy, data)
    actions = play_together(policy, rollouts, len(data["actions"]))
    np.testing.assert_allclose(actions, data["actions"], atol=1e-4, rtol=0)
    assert [rollout.looked for rollout in rollouts] == [looked, looked]


class RecordedNoise:
    """Stands in for an episode's generator: LeRobot was given the same noise at every inference."""

    def __init__(self, noise: np.ndarray) -> None:
        self.noise = noise

    def standard_normal(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        assert shape == (1, *self.noise.shape)
        return self.noise[None]


def test_diffusions_rollout_is_the_same_while_it_looks_only_where_it_must(tmp_path: Path) -> None:
    policy = load_policy(write_checkpoint(GOLDEN / "diffusion", tmp_path / "diffusion"))
    data = recorded(GOLDEN / "diffusion")
    rollouts = rollouts_of(policy, data)
    for rollout, noise in zip(rollouts, data["noise"], strict=True):
        rollout.state.generator = RecordedNoise(noise)
    actions = play_together(policy, rollouts, len(data["actions"]))
    np.testing.assert_allclose(actions, data["actions"], atol=1e-3, rtol=0)
    assert [rollout.looked for rollout in rollouts] == [[0, 5, 6, 11, 12]] * 2


def test_acts_second_encoder_infers_the_same_style(tmp_path: Path) -> None:
    policy = load_policy(write_checkpoint(VARIANTS / "act_training", tmp_path / "act"), dropout=0.0)
    data = {name: torch.from_numpy(value) for name, value in recorded(VARIANTS / "act_training").items()}
    inputs = {name.removeprefix("normalized."): value for name, value in data.items() if name.startswith("normalized.")}
    with torch.inference_mode():
        latent = policy.network.encode_actions(inputs, data["action_is_pad"])
        chunk = policy.network(inputs, latent.mean)
    torch.testing.assert_close(latent.mean, data["mu"], atol=1e-4, rtol=0)
    torch.testing.assert_close(latent.log_variance, data["log_sigma_x2"], atol=1e-4, rtol=0)
    torch.testing.assert_close(chunk, data["normalized.actions_hat_mean"], atol=1e-4, rtol=0)


def test_acts_objective_gives_lerobots_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = load_policy(write_checkpoint(VARIANTS / "act_training", tmp_path / "act"), dropout=0.0)
    data = {name: torch.from_numpy(value) for name, value in recorded(VARIANTS / "act_training").items()}
    batch = {name.removeprefix("normalized."): value for name, value in data.items() if name.startswith("normalized.")}
    batch["action_is_pad"] = data["action_is_pad"]
    monkeypatch.setattr(torch, "randn_like", lambda _: data["latent_noise"])
    losses = objective_of(policy).train()(batch)
    for name in ("loss", "l1_loss", "kld_loss"):
        torch.testing.assert_close(losses[name].detach(), data[name], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["act", "diffusion"])
def test_parameters_have_the_same_names_and_shapes(name: str, tmp_path: Path) -> None:
    import json

    policy = load_policy(write_checkpoint(GOLDEN / name, tmp_path / name))
    shapes = json.loads((GOLDEN / name / "shapes.json").read_text())
    assert {key: list(value.shape) for key, value in policy.stored_tensors().items()} == shapes
