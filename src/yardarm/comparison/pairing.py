"""Finds the episodes that two runs have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yardarm.comparison.outcomes import EpisodeName, EpisodeOutcome, RunOutcomes

__all__ = ["Pair", "Pairing", "find_pairs", "same_start"]

# Physics differs in the last bits between machines: 1e-11 after LIBERO's settling, where states of different seeds
# differ by 1e-2 and more.
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Pair:
    """The same episode, played in both runs; None means an error."""

    name: EpisodeName
    a: bool | None
    b: bool | None

    @property
    def known(self) -> bool:
        """Whether both finished without an error."""
        return self.a is not None and self.b is not None


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs of two runs, and the number of episodes that could not be paired."""

    pairs: tuple[Pair, ...]
    unmatched_a: int
    """Episodes of A that B does not have, or that start in a different state."""
    unmatched_b: int
    different_starts: int
    """Episodes with the same seed that start in different states."""
    unchecked: int
    """Pairs whose initial states could not be compared, because they are not recorded in both."""


def find_pairs(a: RunOutcomes, b: RunOutcomes) -> Pairing:
    """Pair episodes by task, index, seed and, where it is recorded, initial state."""
    pairs, different, unchecked = [], 0, 0
    for name, own in a.outcomes.items():
        other = b.outcomes.get(name)
        if other is None or not own.pairable or not other.pairable:
            continue
        if not same_start(own, other):
            different += 1
            continue
        pairs.append(Pair(name, own.success, other.success))
        unchecked += pairs[-1].known and None in (own.start_hash, other.start_hash)
    count = len(pairs)
    return Pairing(tuple(pairs), len(a.outcomes) - count, len(b.outcomes) - count, different, unchecked)


def same_start(one: EpisodeOutcome, other: EpisodeOutcome) -> bool:
    """Whether two episodes start in the same physical state, up to rounding; true if a state is not recorded."""
    if None in (one.success, other.success, one.start_hash, other.start_hash):
        return True
    if one.start_hash == other.start_hash:
        return True
    first, second = one.start(), other.start()
    if first is None or second is None or first.shape != second.shape:
        return False
    scale = 1 + np.maximum(np.abs(first), np.abs(second))
    return bool(np.all(np.abs(first - second) <= TOLERANCE * scale))
