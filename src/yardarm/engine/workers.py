"""How many workers a run gets, and how they are opened."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from yardarm.engine.options import MOST_WORKERS, EngineOptions
from yardarm.envs import LocalPool, Pool, ProcessPool
from yardarm.machine import usable_cores
from yardarm.policies import BatchedPolicy, LoadedPolicy
from yardarm.tasks import TaskSpec

__all__ = [
    "OpenPool",
    "how_many_workers",
    "in_even_rounds",
    "looks_at_pictures",
    "open_pool",
    "open_process_pool",
]

OpenPool = tuple[Pool, str | None]


def how_many_workers(options: EngineOptions, policies: Sequence[LoadedPolicy], episodes: int) -> int:
    """The number that suits all of the policies."""
    return min(_workers_for(options, policy, episodes) for policy in policies)


def _workers_for(options: EngineOptions, policy: LoadedPolicy, episodes: int) -> int:
    """As many workers as cores, and one more to step while another's looks are with a policy on the host.

    A policy with several threads of its own keeps the cores busy: it gets no more workers than cores. One that
    lives elsewhere leaves them idle, and gets twice as many, if it can serve them. And never more than it takes for the
    same number of rounds: a fourth episode that runs alone after three wastes what two rounds of two do not.
    """
    if not options.use_async_envs:
        return 1
    own = policy.policy
    lanes = policy.traits.lanes
    limit = min(MOST_WORKERS, policy.traits.most_episodes or MOST_WORKERS)
    if options.batch_size:
        return min(options.batch_size, episodes, limit)
    threaded = isinstance(own, BatchedPolicy) and (own.batching.threads or 1) > 1
    if lanes:
        wanted = 2 * usable_cores()
    else:
        wanted = usable_cores() + (1 if own.place == "host" and not threaded else 0)
    return in_even_rounds(episodes, min(wanted, limit))


def in_even_rounds(episodes: int, most: int) -> int:
    """The fewest workers that need no more rounds than `most` would."""
    rounds = math.ceil(episodes / most)
    return math.ceil(episodes / rounds)


def looks_at_pictures(tasks: Sequence[TaskSpec], policies: Sequence[LoadedPolicy]) -> bool:
    """Whether any of the policies looks at something that must be rendered."""
    inputs = {name for policy in policies for name in policy.policy.wants.inputs}
    return any(task.env.features[name].is_image for task in tasks for name in inputs)


@contextlib.contextmanager
def open_pool(
    options: EngineOptions, tasks: Sequence[TaskSpec], policies: Sequence[LoadedPolicy], log: Path, size: int
) -> Iterator[OpenPool]:
    """Workers for these tasks, and what they render with.

    Simulators are imported, and the renderer is found, before the first episode starts, so that anything missing is
    noticed now.
    """
    looks = looks_at_pictures(tasks, policies)
    with open_process_pool(log, size, options.timeout_s) as pool:
        pool.prepare(tasks)
        renderer = pool.choose_renderer(tasks) if looks or options.films else None
        if options.use_async_envs:
            yield pool, renderer
            return
    local = LocalPool(renderer.partition(":")[0] if renderer else "")
    with contextlib.closing(local):
        yield local, renderer


@contextlib.contextmanager
def open_process_pool(log: Path, size: int, timeout_s: float) -> Iterator[ProcessPool]:
    """Worker processes that print into a log, which is removed if it is empty."""
    pool = ProcessPool(size, time_limit_s=timeout_s, log=log)
    try:
        yield pool
    finally:
        pool.close()
        if log.exists() and not log.stat().st_size:
            log.unlink()
