"""Workers from episode to episode: who is kept, who is replaced, and what they have seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from toy_world import ToyConfig

from yardarm.envs import MemoryLayout, ProcessPool, TaskWorkers, looks_of
from yardarm.envs.messages import Begin, Play, Seen
from yardarm.policies import PlayableChunk
from yardarm.tasks import EpisodeSpec

LEFT, FAR = ToyConfig(task="left,far").tasks()
STATE = "observation.state"
NOTHING = MemoryLayout({})


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    pool = ProcessPool(2, time_limit_s=60)
    yield pool
    pool.close()


def test_a_kept_worker_gets_the_next_episode_of_its_task(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    left, far = workers.take(LEFT, NOTHING), workers.take(FAR, NOTHING)
    workers.keep(left)
    workers.keep(far)
    assert workers.take(FAR, NOTHING) is far
    assert workers.take(LEFT, NOTHING) is left


def test_a_worker_is_not_kept_for_another_task_or_other_looks(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    left, far = workers.take(LEFT, NOTHING), workers.take(FAR, NOTHING)
    workers.keep(left)
    other_looks = workers.take(LEFT, MemoryLayout({}, looks=2))
    assert other_looks is not left
    assert set(pool.workers) == {far, other_looks}, "a full pool lets go of the worker that waits"


def test_a_full_pool_replaces_the_worker_that_was_kept_longest(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    left, far = workers.take(LEFT, NOTHING), workers.take(FAR, NOTHING)
    workers.keep(far)
    workers.keep(left)
    new = workers.take(replace(LEFT, max_steps=7), NOTHING)
    assert set(pool.workers) == {left, new}


def test_a_pool_with_a_free_place_dismisses_nobody(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    left = workers.take(LEFT, NOTHING)
    workers.keep(left)
    far = workers.take(FAR, NOTHING)
    assert set(pool.workers) == {left, far}


def test_a_simulator_for_one_episode_is_not_kept(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    workers.keep(workers.take(replace(LEFT, env=replace(LEFT.env, lives_once=True)), NOTHING))
    assert not pool.workers
    assert not workers.take_kept()


def test_a_dismissed_worker_is_forgotten(pool: ProcessPool) -> None:
    workers = TaskWorkers(pool)
    left = workers.take(LEFT, NOTHING)
    workers.keep(left)
    workers.dismiss(left)
    assert not workers.take_kept()
    assert workers.take(LEFT, NOTHING) is not left


def test_looks_are_views_of_the_inputs_that_were_read(pool: ProcessPool) -> None:
    worker = pool.hire(LEFT, MemoryLayout({STATE: LEFT.env.features[STATE]}, looks=2))
    worker.order(Begin(EpisodeSpec(LEFT, 0, 1000), (STATE,)))
    ((_, begun),) = pool.wait()
    assert isinstance(begun, Seen)
    (first,) = looks_of(worker, begun)
    start = first.values[STATE].copy()
    worker.order(Play.of(PlayableChunk(np.ones((2, LEFT.env.action.size), np.float32), {1: (), 2: (STATE,)})))
    ((_, played),) = pool.wait()
    assert isinstance(played, Seen)
    blind, last = looks_of(worker, played)
    assert (blind.step, dict(blind.values)) == (1, {})
    assert last.step == 2
    assert not np.array_equal(last.values[STATE], start)
    assert np.shares_memory(last.values[STATE], worker.looks[1][STATE])
