"""Where workers and policies live: on this machine, or wherever another runner brings them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from yardarm.engine.exactness import fix_batching
from yardarm.engine.options import EngineOptions
from yardarm.engine.workers import how_many_workers, open_pool
from yardarm.envs import Pool
from yardarm.policies import Batching, LoadedPolicy
from yardarm.tasks import TaskSpec

__all__ = ["LocalRunner", "Runner", "Setting"]

Setting = dict[str, Any]
"""What a manifest says of it."""


class Runner(Protocol):
    """Brings a policy to where it computes, and opens the workers."""

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: Mapping[str, Any] | None) -> Setting | None:
        """Set how the policy's batches are put together; returns what the manifest shall say of it."""

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """Whether the scheduler must ask the policy, in this process."""

    def open_pool(self, log: Path, episodes: int) -> AbstractContextManager[tuple[Pool, Setting]]:
        """Workers, and what there is to say of them."""


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """All of it here."""

    options: EngineOptions
    policies: Sequence[LoadedPolicy]
    tasks: Sequence[TaskSpec]
    known: dict[str, Batching] = field(default_factory=dict)

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: Mapping[str, Any] | None) -> Setting | None:
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
            yield pool, {"renderer": renderer, "runner": {"type": "local"}}
