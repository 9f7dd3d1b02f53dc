"""Gymnasium's names of observations and the policy's say the same, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.envs import environment_names, policy_names
from yardarm.errors import UsageError

WORDS = st.text("abcdefgh_", min_size=1, max_size=6).filter(
    lambda word: word not in ("pixels", "agent_pos", "image", "state", "images")
)


@pytest.mark.parametrize(
    ("observation", "names"),
    [
        ({"pixels": 1, "agent_pos": 2}, {"observation.image": 1, "observation.state": 2}),
        ({"pixels": {"top": 1}}, {"observation.images.top": 1}),
        ({"environment_state": 2}, {"observation.environment_state": 2}),
        ({"achieved_goal": 1}, {"observation.achieved_goal": 1}),
        ({"robot": {"arm": {"left": 1}}}, {"observation.robot.arm.left": 1}),
    ],
)  # fmt: skip
def test_names_are_lerobots(observation: dict[str, object], names: dict[str, object]) -> None:
    assert policy_names(observation) == names


def test_what_is_no_mapping_is_a_picture_or_a_state() -> None:
    assert policy_names(7, is_image=True) == {"observation.image": 7}
    assert policy_names(7) == {"observation.state": 7}


def test_two_entries_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"would both be named 'observation.state'"):
        policy_names({"agent_pos": 1, "state": 2})


@given(
    others=st.dictionaries(WORDS, st.integers()),
    cameras=st.dictionaries(WORDS, st.integers()),
    state=st.booleans(),
    image=st.booleans(),
)
def test_there_and_back(others: dict[str, int], cameras: dict[str, int], state: bool, image: bool) -> None:
    inputs = {f"observation.{word}": value for word, value in others.items()}
    inputs |= {f"observation.images.{word}": value for word, value in cameras.items()}
    if state:
        inputs["observation.state"] = 1
    if image and not cameras:
        inputs["observation.image"] = 2
    assert policy_names(environment_names(inputs)) == inputs
