"""ACT's own parts, held against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoints import small_act
from yardarm.errors import UsageError
from yardarm.policies.act.policy import Ensemble


@given(
    chunk=st.integers(1, 6),
    steps=st.integers(1, 15),
    coefficient=st.floats(-0.5, 0.5),
    seed=st.integers(0, 1000),
)
def test_ensembling_is_the_weighted_mean_of_all_predictions(
    chunk: int, steps: int, coefficient: float, seed: int
) -> None:
    predictions = np.random.default_rng(seed).standard_normal((steps, chunk, 2)).astype(np.float32)
    ensemble = Ensemble(coefficient)
    for now in range(steps):
        action = ensemble.blend(predictions[now])
        made = range(max(0, now - chunk + 1), now + 1)  # the chunks that say something of now, oldest first
        weights = np.exp(-coefficient * np.arange(len(made)))
        about_now = np.stack([predictions[when, now - when] for when in made])
        np.testing.assert_allclose(action, weights @ about_now / weights.sum(), atol=1e-5)


def test_the_training_path_has_a_gradient_everywhere() -> None:
    policy = small_act()
    network = policy.network.train()
    inputs = {
        "observation.image": torch.rand(2, 3, 32, 32),
        "observation.state": torch.rand(2, 4),
        "action": torch.rand(2, 10, 4),
    }
    latent = network.encode_actions(inputs, torch.zeros(2, 10, dtype=torch.bool))
    network(inputs, latent.sample()).sum().backward()
    assert [name for name, value in network.named_parameters() if value.grad is None] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_action_steps": 11}, "n_action_steps must be between 1 and chunk_size=10, not 11"),
        ({"n_obs_steps": 2}, "n_obs_steps must be 1 for ACT, not 2"),
        (
            {"temporal_ensemble_coeff": 0.1},
            "temporal_ensemble_coeff predicts at every step: set n_action_steps=1, too",
        ),
        ({"vision_backbone": "resnet102"}, "vision_backbone 'resnet102' is unknown; did you mean 'resnet152'"),
        ({"feedforward_activation": "glu"}, "feedforward_activation 'glu' is unknown"),
        ({"replace_final_stride_with_dilation": True}, "works with resnet50, resnet101, resnet152, not with resnet18"),
        ({"n_heads": 5}, "dim_model=32 must be a multiple of n_heads=5"),
        ({"dim_model": 34, "n_heads": 2}, "dim_model=34 must be a multiple of 4"),
        ({"input_features": {}}, "input_features must hold an image or 'observation.environment_state'"),
    ],
)
def test_what_cannot_work_is_refused_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        small_act(**options)
