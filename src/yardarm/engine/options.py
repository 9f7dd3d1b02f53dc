"""How episodes are played, for any command."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_WORKERS", "EngineOptions"]

MOST_WORKERS = 64


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the engine needs to know of a command's flags."""

    batch_size: int = 0
    """How many episodes run at once; 0: fit to this machine."""
    use_async_envs: bool = True
    """False: one simulator in this process."""
    timeout_s: float = 300.0
    """A worker that says nothing for this long is replaced."""
    max_retries: int = 2
    """How often an episode is run again after its worker failed."""
    films: bool = False
    """Whether videos are wanted, so that a renderer must be there."""
    policies_at_once: int = 0
    """Of several policies, how many are held in memory; 0: the usual number."""
