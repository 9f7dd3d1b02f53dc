"""A policy that does not fit is refused before anything starts, with both sides shown and the way out."""

from __future__ import annotations

import pytest

from tests.checkpoints import small_act
from yardarm import load_policy
from yardarm.api import evaluate
from yardarm.errors import UsageError
from yardarm.policies.learned.config import FeatureType, PolicyFeature
from yardarm.tasks.metaworld import MetaworldConfig

SMALL = MetaworldConfig(task="reach-v3", observation_height=32, observation_width=32)
STATE = PolicyFeature(FeatureType.STATE, (4,))


def camera(name: str, size: int = 32) -> dict[str, PolicyFeature]:
    return {name: PolicyFeature(FeatureType.VISUAL, (3, size, size))}


def refusal(env: MetaworldConfig = SMALL, **features: object) -> str:
    with pytest.raises(UsageError) as caught:
        evaluate(small_act(**features), env)
    return str(caught.value)


def test_another_name_of_the_camera_gets_the_renaming_that_would_help() -> None:
    message = refusal(input_features={**camera("observation.images.top"), "observation.state": STATE})
    assert message == (
        "the policy reads 'observation.images.top' (32×32×3), 'observation.state' (4), but 'reach-v3' of metaworld "
        "offers 'observation.image' (32×32×3), 'observation.state' (4), 'observation.environment_state' (39); "
        """if they are the same, add rename_map='{"observation.image": "observation.images.top"}'"""
    )


def test_the_renaming_that_would_help_is_right_where_another_is_in_force() -> None:
    features = {**camera("observation.images.top"), "observation.state": STATE}
    small_act(input_features=features).save_pretrained("checkpoint")
    names = {"front": "observation.images.top", "agent": "observation.state"}
    policy = load_policy("checkpoint", rename_map=names)
    with pytest.raises(UsageError) as caught:
        evaluate(policy, SMALL)
    assert """add rename_map='{"observation.image": "observation.images.top"}'""" in str(caught.value)


def test_a_second_camera_that_nothing_can_stand_in_for_is_named() -> None:
    two = {**camera("observation.image"), **camera("observation.images.wrist"), "observation.state": STATE}
    assert "nothing there can be 'observation.images.wrist' of shape (32×32×3)" in refusal(input_features=two)


def test_the_way_out_works() -> None:
    policy = small_act(input_features={**camera("observation.images.top"), "observation.state": STATE})
    policy.save_pretrained("checkpoint")
    env = MetaworldConfig(task="reach-v3", observation_height=32, observation_width=32, episode_length=5)
    renamed = load_policy("checkpoint", rename_map={"observation.image": "observation.images.top"})
    assert evaluate(renamed, env, n_episodes=1).counts.episodes == 1


def test_another_image_size_is_refused_unless_resizing_is_asked_for() -> None:
    assert refusal(image=48) == (
        "the policy reads 'observation.image' of shape (48×48×3), but 'reach-v3' of metaworld offers (32×32×3); add "
        "observation_height=48 observation_width=48, which renders that size, or let images be resized "
        "with policy.resize_images=true"
    )
    small_act(image=48).save_pretrained("checkpoint")
    env = MetaworldConfig(task="reach-v3", observation_height=32, observation_width=32, episode_length=5)
    result = evaluate(load_policy("checkpoint", resize_images=True), env, n_episodes=1)
    assert result.counts.episodes == 1


def test_another_size_of_the_state_is_refused() -> None:
    message = refusal(
        input_features={**camera("observation.image"), "observation.state": PolicyFeature(FeatureType.STATE, (7,))}
    )
    assert "reads 'observation.state' of shape (7), but 'reach-v3' of metaworld offers (4)" in message


def test_another_number_of_actions_is_refused() -> None:
    message = refusal(output_features={"action": PolicyFeature(FeatureType.ACTION, (7,))})
    assert "the policy's actions have 7 numbers, those of 'reach-v3' of metaworld 4" in message
