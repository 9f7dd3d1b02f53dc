"""The order in which a run that may stop early plays its episodes."""

from __future__ import annotations

import hashlib

from yardarm.evaluation.plan import Plan
from yardarm.tasks import EpisodeSpec

__all__ = ["planned_order"]


def planned_order(plan: Plan) -> list[EpisodeSpec]:
    """All episodes of the plan, shuffled over tasks and seeds; the same for the same seed, everywhere and always.

    Sorted by a hash, because a generator's stream may change from one version of its library to the next, and a run
    that is continued must keep its order.
    """
    return sorted(plan.episodes(), key=lambda episode: (_shuffled(plan.seed, episode), episode.key()))


def _shuffled(seed: int, episode: EpisodeSpec) -> bytes:
    name = (seed, episode.task.benchmark, episode.task.name, episode.index, episode.seed)
    return hashlib.sha256(repr(name).encode()).digest()
