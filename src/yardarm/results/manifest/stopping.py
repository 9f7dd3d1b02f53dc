"""Early stopping: what was declared before the first episode, and the state of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.contents import inside
from yardarm.results.manifest.codec import Count, Positive, Record, read_fields

__all__ = [
    "BUDGET_SPENT",
    "DECIDED",
    "PRECISION",
    "STOPPING_RULES",
    "PairedEvidence",
    "RateEvidence",
    "StoppingDeclaration",
    "StoppingRecord",
]

DECIDED = "decided"
PRECISION = "precision"
STOPPING_RULES = (DECIDED, PRECISION)
BUDGET_SPENT = "budget"
"""The decision of a run that could have stopped early, and did not."""


@dataclass(frozen=True, slots=True)
class StoppingDeclaration(Record):
    """What is declared before the first episode, and cannot be changed afterwards."""

    rule: str
    """`decided` or `precision`."""
    n_episodes: Count
    """Of each task, at most."""
    confidence: float
    half_width: float | None = None
    """Of the interval at which a rate is precise enough."""
    against: str | None = None
    """What the opponent is called, and its results filed under."""
    outcomes: str | None = None
    """A hash of the opponent's outcomes, if it has played already."""


@dataclass(frozen=True, slots=True)
class PairedEvidence(Record):
    """What the rule `decided` rests on: pairs of episodes of two policies, A and B."""

    pairs: Count
    both: Count
    """Pairs that both solved."""
    only_a: Count
    only_b: Count
    difference: float | None
    """A's rate minus B's; none: no pairs yet."""
    difference_interval: tuple[float, float]
    """It holds whenever one stops."""


@dataclass(frozen=True, slots=True)
class RateEvidence(Record):
    """What the rule `precision` rests on: the episodes of one policy."""

    successes: Count
    episodes: Count
    rate: float | None
    interval: tuple[float, float]
    """It holds whenever one stops."""


@dataclass(frozen=True, slots=True)
class StoppingRecord(Record):
    """The state of a run that may stop early. In JSON, declaration and evidence lie side by side with the rest."""

    declared: StoppingDeclaration
    a: str
    """The policy's id."""
    players: Positive
    """How many policies play: 2, or 1 against a run that is finished, or for precision."""
    maximum: Positive
    """How many places the planned order has: pairs, or episodes."""
    released: Count
    """How many of them were judged or dropped, in the planned order; only those count."""
    decision: str | None
    """`a`, `b`, `precise` or `budget`; none: not decided yet."""
    dropped: Mapping[str, Count]
    """How many places were passed over, by the reason."""
    evidence: PairedEvidence | RateEvidence
    b: str | None = None
    """The opponent's id."""
    played: Count | None = None
    """How many episodes are on disk, of all players, whether or not they count. Only in `eval_info.json`."""

    @property
    def stopped_early(self) -> bool:
        """Whether it was decided before all episodes were played."""
        return self.decision not in (None, BUDGET_SPENT)

    def to_json(self) -> dict[str, Any]:
        """All in one map."""
        content = Record.to_json(self)
        declared, evidence = content.pop("declared"), content.pop("evidence")
        return {**declared, **content, **evidence}

    @classmethod
    def from_json(cls, content: Any, place: str = "") -> StoppingRecord:
        """Its rule says which evidence there is."""
        declared = StoppingDeclaration.from_json(content, place)
        paired = declared.rule == DECIDED
        if (needed := "b" if paired else "half_width") not in content:
            raise ValueError(f"{inside(place, needed)} is missing")
        evidence = (PairedEvidence if paired else RateEvidence).from_json(content, place)
        return cls(**read_fields(cls, content, place, declared=declared, evidence=evidence))
