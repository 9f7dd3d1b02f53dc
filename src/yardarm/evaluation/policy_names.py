"""What policies are called in the names of folders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from yardarm.evaluation.config import LONGEST_NAME
from yardarm.policies import Policy, PolicySpec, own_name

__all__ = ["distinct_names", "free_name", "numbered", "policy_name"]

# Parts of a checkpoint's path that say nothing about it, if others do.
COMMON = ("/", ".", "..", "pretrained_model", "last", "checkpoints")


def policy_name(policy: PolicySpec | Policy) -> str:
    """A word for the policy: its type, or the last part of a checkpoint's path that says something."""
    return _joined(_parts(policy)[-1:])


def distinct_names(policies: Sequence[PolicySpec | Policy]) -> list[str]:
    """A name for each; checkpoints with the same name get as much of their paths as tells them apart."""
    parts = [_parts(policy) for policy in policies]
    names = [_joined(own[-1:]) for own in parts]
    for length in range(2, max(map(len, parts)) + 1):
        twice = {name for name in names if names.count(name) > 1}
        names = [_joined(own[-length:]) if name in twice else name for own, name in zip(parts, names, strict=True)]
    distinct: list[str] = []
    for name in names:
        distinct.append(free_name(name, distinct))
    return distinct


def free_name(name: str, taken: Collection[str]) -> str:
    """The name itself, or the first one like it that is free."""
    return next(free for free in numbered(name) if free not in taken)


def numbered(name: str) -> Iterator[str]:
    """The name itself, then others like it, in case it is taken."""
    yield name
    yield from (f"{name}-{number}" for number in itertools.count(2))


def _parts(policy: PolicySpec | Policy) -> list[str]:
    if not isinstance(policy, PolicySpec):
        return [own_name(policy)]
    if "path" not in policy.options:
        return [policy.type.rpartition(":")[2]]
    path = Path(str(policy.options["path"]))
    return [part for part in path.parts if part not in COMMON] or [path.name or policy.type]


def _joined(parts: Sequence[str]) -> str:
    return re.sub(r"[^\w.+-]", "_", "_".join(parts))[-LONGEST_NAME:]
