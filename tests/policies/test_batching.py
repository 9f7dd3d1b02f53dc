"""An answer does not depend on who shares the batch: not on the order, the number, or what they see."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkpoints import small_act, small_diffusion
from tests.policies.playing import Rollout, play_together, rollouts_of
from yardarm.policies import Batching
from yardarm.policies.tuning import made_up

STEPS, ROWS = 13, 5
MAKERS: dict[str, Callable[[], Any]] = {
    "act": lambda: small_act(n_action_steps=4),
    "act with ensembling": lambda: small_act(n_action_steps=1, temporal_ensemble_coeff=0.01),
    "act without images": lambda: small_act(image=None, n_action_steps=4),
    "diffusion": lambda: small_diffusion(n_action_steps=5),
    "diffusion, overlapping history": lambda: small_diffusion(n_action_steps=1, n_obs_steps=3),
}


@cache
def policy_and_observations(name: str) -> tuple[Any, dict[str, np.ndarray]]:
    policy = MAKERS[name]()
    seen = made_up({name: (ROWS, *shape) for name, shape in policy.wants.shapes.items()}, policy.cameras, STEPS)
    return policy, dict(seen)


@cache
def actions_alone(name: str, batching: Batching) -> np.ndarray:
    """Each episode played from beginning to end before the next."""
    policy, seen = policy_and_observations(name)
    policy.batching = batching
    return np.concatenate([play_together(policy, [rollout], STEPS) for rollout in rollouts_of(policy, seen)], axis=1)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_any_mix_of_episodes_gives_the_same_bits(name: str, rows: int, data: st.DataObject) -> None:
    """Episodes join batches in any order, at different steps of theirs, as workers come and go."""
    policy, seen = policy_and_observations(name)
    batching = Batching(rows, threads=1)
    expected = actions_alone(name, batching)
    policy.batching = batching
    rollouts = rollouts_of(policy, seen)
    while going := [rollout for rollout in rollouts if len(rollout.actions) < STEPS]:
        asked: list[Rollout] = data.draw(st.lists(st.sampled_from(going), unique_by=id, min_size=1), label="who asks")
        for rollout, chunk in zip(asked, policy.infer([rollout.request() for rollout in asked]), strict=True):
            rollout.play(chunk, policy.wants.inputs)
    actions = np.stack([np.stack(rollout.actions[:STEPS]) for rollout in rollouts], axis=1)
    assert np.array_equal(actions, expected)


@pytest.mark.parametrize("name", MAKERS)
def test_no_shape_changes_more_than_the_last_bits(name: str) -> None:
    floating = play_all_at_once(name, Batching(None, threads=1))
    np.testing.assert_allclose(floating, actions_alone(name, Batching(1, threads=1)), atol=1e-4, rtol=0)


def play_all_at_once(name: str, batching: Batching) -> np.ndarray:
    policy, seen = policy_and_observations(name)
    policy.batching = batching
    return play_together(policy, rollouts_of(policy, seen), STEPS)


def test_the_choice_of_a_batching_is_the_same_every_time() -> None:
    for policy in (small_act(image=96), small_diffusion(image=64)):
        assert [policy.choose_batching(cores).rows for cores in (1, 2, 8)] == [1, 1, 1], "one row keeps a CPU busy"
        assert [policy.choose_batching(cores).threads for cores in (1, 2, 8)] == [1, 2, 4]


def test_a_tiny_network_is_asked_in_batches_whose_size_changes_no_bit() -> None:
    policy = small_act(image=None)
    chosen = policy.choose_batching(2)
    assert chosen.rows is not None
    assert chosen.rows >= 2
    seen = made_up(policy.row_shapes(), policy.cameras, 8)
    answers = []
    for rows in (2, chosen.rows):
        policy.batching = Batching(rows, chosen.threads)
        parts = [{name: value[start : start + rows] for name, value in seen.items()} for start in range(0, 8, rows)]
        answers.append(
            np.concatenate(
                [policy.predict(policy.batching.filled(part))[: len(part["observation.state"])] for part in parts]
            )
        )
    assert np.array_equal(*answers)


def test_whoever_calls_gets_torchs_threads_back() -> None:
    before = torch.get_num_threads()
    policy = small_act(image=None)
    policy.batching = Batching(1, threads=before + 1)
    policy.predict(made_up(policy.row_shapes(), policy.cameras, 1))
    assert torch.get_num_threads() == before
