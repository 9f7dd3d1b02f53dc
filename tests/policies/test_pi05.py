"""What only π0.5 has: a state in words, and norms that follow the time."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from tests.policies.test_paligemma import load, raw
from yardarm.policies.pi05.prompt import StatePrompt, bins
from yardarm.policies.processing import TOKENS, Tokenize
from yardarm.policies.protocol import TASK


def test_values_fall_into_256_parts_of_minus_one_to_one() -> None:
    edge = 1 / 128
    values = torch.tensor([-5.0, -1.001, -1.0, -1 + edge, -1e-9, 0.0, 1 - edge - 1e-4, 1 - edge, 1.0, 7.0])
    assert bins(values).tolist() == [-1, -1, 0, 1, 127, 128, 254, 255, 255, 255]
    many = torch.linspace(-1.2, 1.2, 5001)
    expected = np.digitize(many.numpy(), np.linspace(-1, 1, 257)[:-1]) - 1
    np.testing.assert_array_equal(bins(many), expected)


def test_a_prompt_has_the_task_and_the_state() -> None:
    batch = {TASK: [" pick_up\nthe cup "], "observation.state": torch.tensor([[-2.0, 0.0, 1.0]])}
    assert StatePrompt()(batch)[TASK] == ["Task: pick up the cup, State: -1 128 255;\nAction: "]


def test_each_look_has_a_prompt_of_its_own() -> None:
    policy = load("pi05")
    moved = {**raw("pi05"), "observation.state": raw("pi05")["observation.state"] + 0.2}
    assert not np.allclose(policy.predict(raw("pi05")), policy.predict(moved), atol=1e-4)


def test_a_prompt_that_is_too_long_loses_its_end_with_a_few_warnings(caplog: pytest.LogCaptureFixture) -> None:
    policy = load("pi05", tokenizer_max_length=12)
    step = policy.preprocessor.step(Tokenize)
    assert step is not None
    with caplog.at_level(logging.WARNING):
        for number in range(50):
            assert step({TASK: [f"Task: go there, State: {number} 1 2 3 4 5 6 7;\nAction: "]})[TOKENS].shape == (1, 12)
    assert len(caplog.messages) == 20


def test_modulations_are_computed_once_for_the_weights_that_there_are() -> None:
    policy = load("pi05")
    network = policy.network
    first = policy.predict(raw("pi05"))
    prepared = network._prepared
    np.testing.assert_array_equal(policy.predict(raw("pi05")), first)
    assert network._prepared is prepared
    with torch.no_grad():
        network.time_mlp_in.weight.mul_(2)
    changed = policy.predict(raw("pi05"))
    assert network._prepared is not prepared
    assert not np.allclose(changed, first, atol=1e-3)
    policy.config.num_inference_steps = 4
    assert not np.allclose(policy.predict(raw("pi05")), changed, atol=1e-4)
