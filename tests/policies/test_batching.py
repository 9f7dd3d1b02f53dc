"""An answer does not depend on who shares the batch: not on the order, the number, or what they see."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.checkpoints import small_act, small_diffusion
from tests.policies.playing import Rollout, play_together, rollouts_of
from yardarm.policies import BatchedPolicy, Batching, Observations, ObservationSpec
from yardarm.policies.learned import tuning
from yardarm.policies.learned.tuning import made_up

STEPS, ROWS = 5, 5
MAKERS: dict[str, Callable[[], Any]] = {
    "act": lambda: small_act(n_action_steps=4),
    "act with ensembling": lambda: small_act(n_action_steps=1, temporal_ensemble_coeff=0.01),
    "act without images": lambda: small_act(image=None, n_action_steps=2),
    "diffusion": lambda: small_diffusion(n_action_steps=3),
    "diffusion, overlapping history": lambda: small_diffusion(n_action_steps=1, n_obs_steps=3),
    "diffusion without images": lambda: small_diffusion(image=None, n_action_steps=2),
}


@cache
def policy_and_observations(name: str) -> tuple[Any, dict[str, np.ndarray]]:
    policy = MAKERS[name]()
    seen = made_up({name: (ROWS, *shape) for name, shape in policy.wants.shapes.items()}, policy.cameras, STEPS)
    return policy, dict(seen)


@cache
def chosen_batching(name: str) -> Batching:
    return policy_and_observations(name)[0].choose_batching(2)


@cache
def actions_alone(name: str) -> np.ndarray:
    """Each episode played from beginning to end before the next."""
    policy, seen = policy_and_observations(name)
    policy.batching = chosen_batching(name)
    return np.concatenate([play_together(policy, [rollout], STEPS) for rollout in rollouts_of(policy, seen)], axis=1)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=4, deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_any_mix_of_episodes_gives_the_same_bits(name: str, data: st.DataObject) -> None:
    """Episodes join batches in any order, at different steps of theirs, as workers come and go."""
    policy, seen = policy_and_observations(name)
    expected = actions_alone(name)
    rollouts = rollouts_of(policy, seen)
    while going := [rollout for rollout in rollouts if len(rollout.actions) < STEPS]:
        asked: list[Rollout] = data.draw(st.lists(st.sampled_from(going), unique_by=id, min_size=1), label="who asks")
        for rollout, chunk in zip(asked, policy.infer([rollout.request() for rollout in asked]), strict=True):
            rollout.play(chunk, policy.wants.inputs)
    actions = np.stack([np.stack(rollout.actions[:STEPS]) for rollout in rollouts], axis=1)
    assert np.array_equal(actions, expected)


@pytest.mark.parametrize("name", MAKERS)
def test_no_shape_changes_more_than_the_last_bits(name: str) -> None:
    policy, seen = policy_and_observations(name)
    expected = actions_alone(name)
    policy.batching = Batching(None, threads=1)
    floating = play_together(policy, rollouts_of(policy, seen), STEPS)
    policy.batching = chosen_batching(name)
    np.testing.assert_allclose(floating, expected, atol=1e-4, rtol=0)


def test_one_row_at_a_time_where_it_keeps_a_cpu_busy_and_threads_where_they_pay() -> None:
    small, large = small_act(image=64), small_act(image=160)
    assert [small.choose_batching(cores) for cores in (1, 2, 8)] == [Batching(1, 1)] * 3
    assert [large.choose_batching(cores) for cores in (1, 2, 8)] == [Batching(1, 1), Batching(1, 2), Batching(1, 4)]


class Peculiar(BatchedPolicy):
    """A network that adds a last bit in one place of a batch."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.wants = ObservationSpec(("x",))

    def predict(self, observations: Observations) -> np.ndarray:
        answers = np.array(observations["x"][:, None], dtype=np.float32)
        if len(answers) > self.place:
            answers[self.place] = np.nextafter(answers[self.place], np.float32(9))
        return answers


@pytest.mark.parametrize(("place", "rows"), [(1, 1), (7, 1), (8, 8), (20, 16), (40, 32)])
def test_a_size_where_places_matter_is_never_used(place: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "NEARLY_FREE", 1e9)  # so that time decides nothing here
    chosen = tuning.choose_batching(
        Peculiar(place), lambda count: made_up({"x": (3,)}, (), count), torch.device("cpu"), cores=2
    )
    assert chosen.rows == rows


@pytest.mark.parametrize("nearly_free", [0.0, 1e9])
def test_time_never_decides_between_one_row_and_many(nearly_free: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row and many may differ in the last bits, so a busy machine must not change the choice."""
    monkeypatch.setattr(tuning, "NEARLY_FREE", nearly_free)
    rows = small_act(image=None).choose_batching(2).rows
    assert rows == (8 if nearly_free == 0 else 32)


def test_whoever_calls_gets_torchs_threads_back() -> None:
    before = torch.get_num_threads()
    policy = small_act(image=None)
    policy.batching = Batching(1, threads=before + 1)
    policy.predict(made_up(policy.row_shapes(), policy.cameras, 1))
    assert torch.get_num_threads() == before
