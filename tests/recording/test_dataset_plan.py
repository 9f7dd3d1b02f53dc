"""What will be recorded is known, or refused, before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.recording import RecordDatasetOptions, plan_dataset
from yardarm.tasks import BENCHMARKS, BenchmarkConfig
from yardarm.tasks.metaworld import MetaworldConfig


def shapes(envs: Sequence[BenchmarkConfig], **options: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    features = plan_dataset(RecordDatasetOptions(**options), envs).info.features
    return {name: (feature.dtype, feature.shape) for name, feature in features.items() if name.startswith("obs")}


def test_observations_are_chosen_by_kind_or_by_name() -> None:
    envs = [MetaworldConfig(task="reach-v3,push-v3")]
    image, state = {"observation.image": ("video", (480, 480, 3))}, {"observation.state": ("float32", (4,))}
    raw = {"observation.environment_state": ("float32", (39,))}
    assert shapes(envs) == {**image, **state, **raw}
    assert shapes(envs, features="states") == {**state, **raw}
    assert shapes(envs, features="observation.state, observation.image") == {**image, **state}
    assert shapes(envs, features="observation.image", image_size="64x96", video=False) == {
        "observation.image": ("image", (64, 96, 3))
    }


def test_the_size_of_images_is_the_datasets_alone() -> None:
    env = MetaworldConfig(task="reach-v3")
    plan = plan_dataset(RecordDatasetOptions(image_size="64"), [env])
    seen, played = plan.tasks["metaworld", "reach-v3"], env.tasks()[0]
    assert seen.env.options == {**played.env.options, "height": 64, "width": 64}
    assert replace(seen, env=played.env) == played


def test_tasks_that_differ_too_much_are_refused() -> None:
    toy = BENCHMARKS.load("toy")()
    with pytest.raises(UsageError, match="'left' runs at 20 steps a second, 'reach-v3' at 80; a dataset has one rate"):
        plan_dataset(RecordDatasetOptions(), [toy, MetaworldConfig(task="reach-v3")])
    apart = [MetaworldConfig(task="reach-v3"), MetaworldConfig(task="push-v3", obs_type="state")]
    with pytest.raises(UsageError, match="'reach-v3' and 'push-v3' differ in their observations or actions"):
        plan_dataset(RecordDatasetOptions(), apart)
    plan_dataset(RecordDatasetOptions(features="states"), apart)
