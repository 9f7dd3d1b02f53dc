"""An episode is a pure function of (policy, task, seed): not of the batch size, the order, or what ran before."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers import courses
from yardarm.api import evaluate
from yardarm.engine.queue import EpisodeQueue, Job, PlannedOrderQueue
from yardarm.policies import PolicySpec
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm.tasks.metaworld_catalogue import INSTRUCTIONS

TASKS = ("push-v3", "reach-v3", "drawer-close-v3")
SEEDS = (1000, 1001)


def short_episodes(tasks: tuple[str, ...], steps: int = 15) -> MetaworldConfig:
    return MetaworldConfig(task=",".join(tasks), episode_length=steps, obs_type="state")


def run(policy: str | PolicySpec, tasks: tuple[str, ...], **options: Any) -> dict[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return courses(evaluate(policy, short_episodes(tasks), output_dir=Path(folder), **options))


@cache
def reference(policy: str) -> dict[Any, Any]:
    """Every episode in a worker of its own: one worker, one task at a time."""
    episodes: dict[Any, Any] = {}
    for task in TASKS:
        for seed in SEEDS:
            single = run(policy, (task,), n_episodes=1, seed=seed, batch_size=1)
            episodes.update({(key.task, key.seed): _without_index(course) for key, course in single.items()})
    return episodes


def _without_index(course: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in course.items() if name != "index"}


@pytest.mark.parametrize("policy", [pytest.param("expert", marks=pytest.mark.slow), "random"])
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    order=st.permutations(TASKS),
    batch_size=st.integers(1, 4),
    in_this_process=st.booleans(),
    first_seed=st.sampled_from(SEEDS),
)
def test_no_schedule_changes_an_episode(
    policy: str, order: list[str], batch_size: int, in_this_process: bool, first_seed: int
) -> None:
    episodes = run(
        policy,
        tuple(order),
        n_episodes=len(SEEDS) - SEEDS.index(first_seed),
        seed=first_seed,
        batch_size=batch_size,
        use_async_envs=not in_this_process,
    )
    assert len(episodes) == len(TASKS) * (len(SEEDS) - SEEDS.index(first_seed))
    for key, course in episodes.items():
        assert _without_index(course) == reference(policy)[key.task, key.seed]


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(batch_size=st.integers(2, 5), chunk=st.sampled_from([1, 3, 7]))
def test_a_policy_on_the_host_sees_the_same_whoever_shares_its_batch(batch_size: int, chunk: int) -> None:
    assert toy_run(chunk, batch_size) == toy_run(chunk, 1)


@cache
def toy_run(chunk: int, batch_size: int) -> dict[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        policy = PolicySpec("toy-mover", {"chunk": chunk})
        options = {"n_episodes": 6, "batch_size": batch_size, "output_dir": folder}
        return courses(evaluate(policy, "left,right", benchmark="toy", **options))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", ["expert", "random"])
def test_all_fifty_tasks_are_pure(policy: str) -> None:
    """Whole episodes: first in fresh workers, then after other episodes of the same task, in the reverse order."""
    tasks = tuple(INSTRUCTIONS)

    def outcome(seed: int, n_episodes: int, batch_size: int) -> dict[Any, Any]:
        with tempfile.TemporaryDirectory() as folder:
            config = MetaworldConfig(task=",".join(tasks), obs_type="state")
            options = {"n_episodes": n_episodes, "batch_size": batch_size}
            episodes = courses(evaluate(policy, config, seed=seed, output_dir=folder, **options))
        return {(key.task, key.seed): _without_index(course) for key, course in episodes.items()}

    fresh = outcome(seed=1002, n_episodes=1, batch_size=2)
    after_others = outcome(seed=1000, n_episodes=3, batch_size=1)
    for key, course in fresh.items():
        assert after_others[key] == course, key


@pytest.mark.parametrize("make_queue", [EpisodeQueue, lambda jobs, limit: PlannedOrderQueue(jobs, 4, limit)])
@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    limit=st.integers(0, 3),
    workers=st.integers(1, 4),
    random=st.randoms(use_true_random=False),
)
def test_the_queue_hands_out_every_episode_once(
    make_queue: Any, counts: list[int], limit: int, workers: int, random: Any
) -> None:
    tasks = MetaworldConfig(task=",".join(list(INSTRUCTIONS)[: len(counts)])).tasks()
    planned = [EpisodeSpec(task, index, index) for task, n in zip(tasks, counts, strict=True) for index in range(n)]
    queue = make_queue([Job(episode) for episode in planned], limit)
    running: list[Job] = []
    handed_out: list[Any] = []
    while len(handed_out) < len(planned):
        at_hand = random.choice([None, *tasks])
        job = queue.take(at_hand) if len(running) < workers else None
        if job is not None:
            running.append(job)
            assert limit == 0 or len({other.task for other in running}) <= limit
        elif running:
            finished = running.pop(random.randrange(len(running)))
            if random.random() < 0.2:
                queue.put_back(finished)
            else:
                queue.done(finished)
                handed_out.append(finished.episode.key())
    assert sorted(handed_out) == sorted(episode.key() for episode in planned)
