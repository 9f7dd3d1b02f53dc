"""Where workers and policies live: on this machine, or where another runner puts them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from yardarm.engine.exactness import FixedBatching, fix_batching
from yardarm.engine.options import EngineOptions
from yardarm.engine.workers import how_many_workers, open_pool
from yardarm.envs import Pool
from yardarm.policies import Batching, LoadedPolicy
from yardarm.tasks import TaskSpec

__all__ = ["LocalRunner", "Runner", "Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run's record says about its workers: what they draw with, and where they live."""

    renderer: str | None
    runner: Mapping[str, Any]


class Runner(Protocol):
    """Places a policy where it computes, and opens the workers."""

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: FixedBatching | None) -> FixedBatching | None:
        """Set how the policy's batches are put together, as `stored` or afresh; None: it decides that itself."""

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """Whether the scheduler must ask the policy, in this process."""

    def open_pool(self, log: Path, episodes: int) -> AbstractContextManager[tuple[Pool, Setting]]:
        """Workers, and what the run's record says about them."""


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Workers and policies on this machine."""

    options: EngineOptions
    policies: Sequence[LoadedPolicy]
    tasks: Sequence[TaskSpec]
    known: dict[str, Batching] = field(default_factory=dict)

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: FixedBatching | None) -> FixedBatching | None:
        """In this process."""
        return fix_batching(policy, exact=exact, stored=stored, known=self.known)

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """Unless it lives in the workers."""
        return policy.policy.place == "host"

    @contextlib.contextmanager
    def open_pool(self, log: Path, episodes: int) -> Iterator[tuple[Pool, Setting]]:
        """As many workers as suit this machine."""
        size = how_many_workers(self.options, self.policies, episodes)
        with open_pool(self.options, self.tasks, self.policies, log, size) as (pool, renderer):
            yield pool, Setting(renderer, {"type": "local"})
