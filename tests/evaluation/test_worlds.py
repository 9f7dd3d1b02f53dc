"""In every world, an episode is a pure function of (policy, task, seed): the engine's law, held against each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import courses
from yardarm.api import evaluate
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

STEPS = 12
EPISODES = 3
FETCH = {"task": "FetchPush-v4,FetchReach-v4", "package_name": "gymnasium_robotics"}

# Each world, small: few steps, no images, two tasks where it has two.
WORLDS: dict[str, Callable[[], BenchmarkConfig]] = {
    "pusht": lambda: _world("pusht", obs_type="environment_state_agent_pos"),
    "aloha": lambda: _world("aloha", task="AlohaInsertion-v0,AlohaTransferCube-v0", obs_type="state"),
    "fetch": lambda: _world("gym", **FETCH),
    "fetch, kept": lambda: _world("gym", rebuild=False, **FETCH),
    "so101_twin": lambda: _world("so101_twin"),
    "libero": lambda: _world("libero", task="libero_goal", task_ids=[0, 6], obs_type="state"),
}


def _world(name: str, **options: Any) -> BenchmarkConfig:
    return BENCHMARKS.load(name)(episode_length=STEPS, **options)


def run(world: str, **options: Any) -> dict[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return courses(evaluate("random", WORLDS[world](), output_dir=Path(folder), **options))


SLOW_WORLDS = ("libero", "fetch", "fetch, kept", "so101_twin")


@cache
def one_after_the_other(world: str) -> dict[Any, Any]:
    """One worker, one episode at a time."""
    return run(world, n_episodes=EPISODES, batch_size=1)


@pytest.mark.parametrize(
    "world", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_WORLDS else []) for name in WORLDS]
)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch_size=st.integers(2, 4), in_this_process=st.booleans(), episodes=st.integers(1, EPISODES))
def test_no_schedule_changes_an_episode(world: str, batch_size: int, in_this_process: bool, episodes: int) -> None:
    reference = one_after_the_other(world)
    found = run(world, n_episodes=episodes, batch_size=batch_size, use_async_envs=not in_this_process)
    assert found == {key: course for key, course in reference.items() if key.index < episodes}
    assert len({course["fingerprints"]["0"] for course in reference.values()}) == len(reference)
