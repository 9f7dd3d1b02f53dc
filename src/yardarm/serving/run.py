"""Serves a policy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import yardarm
from yardarm.errors import UsageError
from yardarm.machine import usable_cores
from yardarm.policies import BatchedPolicy, Batching, LoadedPolicy
from yardarm.serving.backend import PolicyBackend
from yardarm.serving.config import ServeOptions
from yardarm.tasks import TaskSpec
from yardarm_serve import BackendError, serve
from yardarm_serve.batching import Served

__all__ = ["serve_policy"]


def serve_policy(
    loaded: LoadedPolicy, options: ServeOptions, task: TaskSpec | None, on_ready: Callable[[int], None]
) -> Served:
    """Serve until Ctrl-C or SIGTERM, and return the counts of what was served."""
    policy = loaded.policy
    if isinstance(policy, BatchedPolicy):
        policy.batching = policy.choose_batching(usable_cores()) if options.exact else Batching(rows=None)
    backend = PolicyBackend(loaded, task)
    try:
        return asyncio.run(
            serve(backend, options.server_config(), version=yardarm.__version__, on_ready=on_ready)
        ).batcher.served
    except BackendError as error:
        raise UsageError(str(error)) from error
