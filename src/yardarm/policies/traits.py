"""What a policy may say of itself beyond the protocol. It is read once, when the policy is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from yardarm.errors import UsageError
from yardarm.tasks import TaskSpec

if TYPE_CHECKING:
    from yardarm.policies.protocol import Outcome, Policy

__all__ = ["Hooks", "Traits", "hooks_of", "own_id", "own_name", "traits_of"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties that a policy declares as ``traits = Traits(…)``; the defaults fit most policies."""

    quick: bool = False
    """Whether `infer` takes well under a millisecond: the scheduler then waits for it, which is faster."""
    scripted: bool = False
    """Whether its actions are as they are meant, so that a report does not look for odd ones."""
    lanes: int | None = None
    """How many calls of `infer` may run at once, each with one request, because it waits for a server elsewhere."""
    episodes_at_once: int | None = None
    """How many episodes it can play at once, because it keeps their states in itself."""
    own_time_limits: bool = False
    """Whether it never hangs, and may take longer than `--eval.timeout_s`."""
    action_size: int | None = None
    """How many numbers its actions have; another environment is refused before anything starts."""
    needs_expert: bool = False
    """Whether it plays the expert that a task brings along, so that it is for such tasks only."""
    resize_hint: str = ""
    """What helps if an environment's images have another size."""
    batching_key: str | None = None
    """Policies with the same key get the same micro-batches, measured once: their networks differ in numbers only."""

    def __post_init__(self) -> None:
        if self.lanes is not None and self.lanes < 1:
            raise UsageError(f"a policy's lanes must be at least 1, got {self.lanes}")
        if self.episodes_at_once is not None and self.episodes_at_once < 1:
            raise UsageError(f"a policy's episodes_at_once must be at least 1, got {self.episodes_at_once}")

    @property
    def most_episodes(self) -> int | None:
        """The most episodes that can run at once, if there is a limit."""
        return min(filter(None, (self.lanes, self.episodes_at_once)), default=None)


# Version 0.1 had no `Traits`: policies said these things by attributes of the same names, and still may.
PLAIN_ATTRIBUTES = ("quick", "scripted", "lanes", "own_time_limits", "action_size")


def traits_of(policy: Policy) -> Traits:
    """What a policy declares, and what it says by plain attributes, which come first."""
    declared = getattr(policy, "traits", Traits())
    if not isinstance(declared, Traits):
        raise UsageError(f"`traits` of {type(policy).__name__} must be a Traits(…), not {declared!r}")
    return replace(declared, **{name: getattr(policy, name) for name in PLAIN_ATTRIBUTES if hasattr(policy, name)})


@dataclass(frozen=True, slots=True)
class Hooks:
    """The optional methods of a policy; None is one that it does not have."""

    prepare: Callable[[Sequence[TaskSpec]], None] | None = None
    finish: Callable[[Any, Outcome | None], None] | None = None
    describe: Callable[[], dict[str, Any]] | None = None
    close: Callable[[], None] | None = None


def hooks_of(policy: Policy) -> Hooks:
    """The optional methods that a policy has."""
    return Hooks(**{name: getattr(policy, name, None) for name in ("prepare", "finish", "describe", "close")})


def own_name(policy: Policy) -> str:
    """What an object is called in the names of folders: its `name`, or that of its class."""
    return str(getattr(policy, "name", type(policy).__name__))


def own_id(policy: Policy) -> str | None:
    """The id that a policy gives itself, if it does."""
    given = getattr(policy, "id", None)
    return None if given is None else str(given)
