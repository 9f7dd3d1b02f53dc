"""Diffusion Policy's own parts, held against the `diffusers` package and against their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers.schedulers.scheduling_ddim import DDIMScheduler
from diffusers.schedulers.scheduling_ddpm import DDPMScheduler

from tests.checkpoints import VARIANTS, objective_of, recorded, small_diffusion, write_checkpoint
from tests.policies.playing import episode
from yardarm import load_policy
from yardarm.errors import UsageError
from yardarm.policies import Look, Request
from yardarm.policies.diffusion.config import DiffusionConfig
from yardarm.policies.diffusion.sampler import Sampler


@pytest.mark.parametrize("scheduler", ["DDPM", "DDIM"])
@pytest.mark.parametrize("prediction", ["epsilon", "sample"])
@pytest.mark.parametrize("schedule", ["squaredcos_cap_v2", "linear", "scaled_linear"])
@pytest.mark.parametrize("steps", [None, 1, 7, 50])
def test_sampling_is_that_of_diffusers(scheduler: str, prediction: str, schedule: str, steps: int | None) -> None:
    config = DiffusionConfig(
        noise_scheduler_type=scheduler,
        prediction_type=prediction,
        beta_schedule=schedule,
        num_train_timesteps=50,
        num_inference_steps=steps,
    )
    theirs: Any = {"DDPM": DDPMScheduler, "DDIM": DDIMScheduler}[scheduler](
        num_train_timesteps=50,
        beta_start=config.beta_start,
        beta_end=config.beta_end,
        beta_schedule=schedule,
        prediction_type=prediction,
        clip_sample=True,
        clip_sample_range=1.0,
    )
    theirs.set_timesteps(steps or 50)
    sampler = Sampler(config)
    assert sampler.steps == theirs.timesteps.tolist()
    noise = torch.randn(sampler.draws, 2, 4, 3, generator=torch.Generator().manual_seed(0))
    x = noise[0]
    torch.manual_seed(1)  # theirs draws from the global generator
    fresh = [noise[0]]
    for step in theirs.timesteps:
        before = torch.random.get_rng_state()
        following = theirs.step(denoise(x, int(step)), step, x).prev_sample
        if not torch.equal(before, torch.random.get_rng_state()):
            after = torch.random.get_rng_state()
            torch.random.set_rng_state(before)
            fresh.append(torch.randn(x.shape))
            torch.random.set_rng_state(after)
        x = following
    assert len(fresh) == sampler.draws
    torch.testing.assert_close(sampler.sample(denoise, torch.stack(fresh)), x, atol=1e-5, rtol=1e-5)


def denoise(sample: torch.Tensor, step: int) -> torch.Tensor:
    """Something smooth in the place of a network."""
    return torch.sin(sample * 1.3 + step / 10)


@pytest.mark.parametrize("prediction", ["epsilon", "sample"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_objective_gives_lerobots_loss(prediction: str, masked: bool, tmp_path: Path) -> None:
    options = {"prediction_type": prediction, "do_mask_loss_for_padding": masked}
    policy = load_policy(write_checkpoint(VARIANTS / "diff_training", tmp_path / "diffusion"), **options)
    data = {name: torch.from_numpy(value) for name, value in recorded(VARIANTS / "diff_training").items()}
    batch = {name.removeprefix("normalized."): value for name, value in data.items() if name.startswith("normalized.")}
    batch["action_is_pad"] = data["action_is_pad"]
    objective = objective_of(policy).eval()
    with torch.inference_mode():
        loss = objective.at(batch, data["noise"], data["timesteps"])
    expected = data[f"loss_{prediction}{'_masked' if masked else ''}"]
    torch.testing.assert_close(loss, expected, atol=1e-4, rtol=1e-4)


def test_noise_belongs_to_the_episode() -> None:
    policy = small_diffusion()
    look = Look(0, {"observation.image": np.zeros((32, 32, 3), np.uint8), "observation.state": np.zeros(4)})

    def noises(index: int) -> list[np.ndarray]:
        request = Request(episode(index), policy.start(episode(index)), [look])
        return [policy.row(request)["noise"] for _ in range(2)]

    first, again, other = noises(0), noises(0), noises(1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1]), "every inference of an episode has noise of its own"
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_action_steps": 16}, "n_action_steps must be between 1 and horizon - n_obs_steps \\+ 1 = 15, not 16"),
        ({"prediction_type": "v_prediction"}, "prediction_type 'v_prediction' is unknown"),
        ({"noise_scheduler_type": "EDM"}, "noise_scheduler_type 'EDM' is unknown"),
        ({"beta_schedule": "sigmoid", "noise_scheduler_type": "DDIM"}, "'sigmoid' works with DDPM only"),
        ({"num_inference_steps": 5}, "num_inference_steps must be between 1 and num_train_timesteps=4, not 5"),
        ({"kernel_size": 4}, "kernel_size must be odd, not 4"),
        ({"down_dims": (16, 30)}, "down_dims: 30 is not a multiple of n_groups=4"),
        ({"down_dims": (16, 16, 16, 16, 16)}, "horizon=16 must be a multiple of 32"),
        ({"crop_shape": (40, 20)}, "crop_shape \\(40, 20\\) does not fit into images of \\(32, 32\\)"),
        ({"crop_ratio": 0.0}, "crop_ratio must be above 0"),
    ],
)
def test_what_cannot_work_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small_diffusion(**options)
