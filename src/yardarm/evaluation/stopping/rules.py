"""Early stopping: outcomes are judged in the planned order, however they finish.

Successes end early, so what has finished at any moment has too many of them. An outcome that is ahead of its turn
waits until all before it are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from yardarm.comparison import EpisodeOutcome, same_start
from yardarm.results import BUDGET_SPENT, DECIDED, PairedEvidence, RateEvidence, StoppingDeclaration
from yardarm.stats import SequentialMcNemar, confidence_sequence, difference_sequence, level
from yardarm.tasks import EpisodeSpec

__all__ = ["Referee", "make_referee"]

Evidence = PairedEvidence | RateEvidence
ERRORS, OTHER_BEGINNINGS = "because of errors", "because they begin in different states"


class Rule(Protocol):
    """Judges one place of the plan after the other."""

    @property
    def decision(self) -> str | None:
        """What it has decided, if it has."""

    def judge(self, outcomes: Sequence[bool]) -> None:
        """Look at the outcomes of one place."""

    def drop(self) -> None:
        """Skip a place whose outcome is unknown."""

    def evidence(self) -> Evidence:
        """Its current state."""


class Decided:
    """Stops when one of two policies is better."""

    def __init__(self, maximum: int, confidence: float) -> None:
        self._test = SequentialMcNemar(maximum, level(confidence))
        self._confidence = confidence
        self._pairs = self._both = 0

    @property
    def decision(self) -> str | None:
        """Who is better, if that is decided: "a" or "b"."""
        return self._test.better

    def judge(self, outcomes: Sequence[bool]) -> None:
        """Look at a pair."""
        self._pairs += 1
        self._both += all(outcomes)
        self._test.add(*outcomes)

    def drop(self) -> None:
        """Skip a pair."""
        self._test.drop()

    def evidence(self) -> PairedEvidence:
        """The discordant pairs, and the difference with an interval that holds whenever one stops."""
        only_a, only_b = self._test.wins_a, self._test.discordant - self._test.wins_a
        interval = difference_sequence(only_a, only_b, self._pairs, self._confidence)
        return PairedEvidence(
            pairs=self._pairs,
            both=self._both,
            only_a=only_a,
            only_b=only_b,
            difference=(only_a - only_b) / self._pairs if self._pairs else None,
            difference_interval=(interval.low, interval.high),
        )


class Precision:
    """Stops when a policy's rate is known well enough."""

    def __init__(self, half_width: float, confidence: float) -> None:
        self._half_width, self._confidence = half_width, confidence
        self._counts = Counter({1.0: 0, 0.0: 0})
        self._interval = confidence_sequence(self._counts, confidence)

    @property
    def decision(self) -> str | None:
        """Whether the interval is narrow enough."""
        return "precise" if self._interval.half_width <= self._half_width else None

    def judge(self, outcomes: Sequence[bool]) -> None:
        """Look at an episode."""
        self._counts[float(outcomes[0])] += 1
        self._interval = confidence_sequence(self._counts, self._confidence)

    def drop(self) -> None:
        """Skip an episode."""

    def evidence(self) -> RateEvidence:
        """The rate, with an interval that holds whenever one stops."""
        episodes = self._counts.total()
        return RateEvidence(
            successes=self._counts[1.0],
            episodes=episodes,
            rate=self._counts[1.0] / episodes if episodes else None,
            interval=(self._interval.low, self._interval.high),
        )


class Referee:
    """Takes outcomes in the order in which they arrive, and judges them in the planned order."""

    def __init__(self, rule: Rule, order: Sequence[EpisodeSpec], sides: int) -> None:
        self.order = order
        self._rule = rule
        self._places = {episode.key(): place for place, episode in enumerate(order)}
        self._heard: list[list[EpisodeOutcome | None]] = [[None] * sides for _ in order]
        self._dropped: Counter[str] = Counter()
        self.released = 0
        """How many places have been judged or dropped."""

    @property
    def decision(self) -> str | None:
        """The decision, once the run needs no more episodes."""
        return self._rule.decision or (BUDGET_SPENT if self.released == len(self.order) else None)

    def place(self, episode: EpisodeSpec) -> int:
        """Where an episode stands in the planned order."""
        return self._places[episode.key()]

    def hear(self, player: int, episode: EpisodeSpec, outcome: EpisodeOutcome) -> None:
        """Note an outcome, and judge all whose turn has come."""
        self._heard[self.place(episode)][player] = outcome
        while self.decision is None:
            outcomes = [own for own in self._heard[self.released] if own is not None]
            if len(outcomes) < len(self._heard[self.released]):
                return
            self._release(outcomes)

    def has_heard(self, player: int, episode: EpisodeSpec) -> bool:
        """Whether an episode's outcome is known."""
        return self._heard[self.place(episode)][player] is not None

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many places were skipped, by reason."""
        return dict(self._dropped)

    def evidence(self) -> Evidence:
        """What the decision rests on, so far."""
        return self._rule.evidence()

    def _release(self, outcomes: Sequence[EpisodeOutcome]) -> None:
        known = [outcome.success for outcome in outcomes if outcome.success is not None]
        if len(known) < len(outcomes):
            self._dropped[ERRORS] += 1
            self._rule.drop()
        elif len(outcomes) == 2 and not same_start(*outcomes):
            self._dropped[OTHER_BEGINNINGS] += 1
            self._rule.drop()
        else:
            self._rule.judge(known)
        self.released += 1


def make_referee(declared: StoppingDeclaration, order: Sequence[EpisodeSpec]) -> Referee:
    """The referee that a declaration asks for."""
    if declared.rule == DECIDED:
        return Referee(Decided(len(order), declared.confidence), order, sides=2)
    assert declared.half_width is not None
    return Referee(Precision(declared.half_width, declared.confidence), order, sides=1)
