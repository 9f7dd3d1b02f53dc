"""Compares any number of runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from yardarm.comparison.methods import RunGroup, compare_methods, group_by_method, spread_between_seeds
from yardarm.comparison.outcomes import RunOutcomes
from yardarm.comparison.pairwise import Difference, Pairwise, adjusted, compare_two
from yardarm.errors import UsageError
from yardarm.results import Counts
from yardarm.stats import CONFIDENCE, Design, Interval, SeedSpread, largest_correlation, letters, level, wilson

__all__ = ["Comparison", "ComparisonEntry", "compare", "pairs_needed"]

POWER = 0.8


@dataclass(frozen=True, slots=True)
class ComparisonEntry:
    """One side of a comparison: a run, or a method with several training seeds."""

    name: str
    runs: tuple[str, ...]
    counts: Counts
    interval: Interval
    letters: str = ""
    """Entries that share a letter do not differ significantly."""
    seeds: SeedSpread | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The entries in the order given, every pair of them, and notes for the reader."""

    entries: tuple[ComparisonEntry, ...]
    pairs: tuple[Pairwise, ...]
    confidence: float
    notes: tuple[str, ...]

    @property
    def alpha(self) -> float:
        """The accepted chance of a false positive."""
        return level(self.confidence)

    def first_is_worse(self) -> bool:
        """Whether any other entry is significantly better than the first."""
        first = self.entries[0].name
        return any(pair.better(self.alpha) not in (None, first) for pair in self.pairs if pair.a == first)

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain JSON values."""
        return {
            "confidence": self.confidence,
            "runs": [_entry_json(entry) for entry in self.entries],
            "comparisons": [_pair_json(pair, self.alpha) for pair in self.pairs],
            "notes": list(self.notes),
        }


def compare(runs: Sequence[RunOutcomes], paired: bool = True, confidence: float = CONFIDENCE) -> Comparison:
    """Compare every pair; p-values of several comparisons are adjusted by Holm's method."""
    groups = group_by_method(runs)
    if len(runs) < 2:
        raise UsageError(f"a comparison needs at least two runs, got {len(runs)}")
    pairs = [_compare(a, b, paired, confidence) for a, b in itertools.combinations(groups, 2)]
    if len(pairs) > 1:
        overall = adjusted([pair.overall for pair in pairs])
        pairs = [replace(pair, overall=own) for pair, own in zip(pairs, overall, strict=True)]
    entries = [_entry(group, confidence) for group in groups]
    notes = dict.fromkeys(note for run in runs for note in run.notes)
    return Comparison(tuple(_lettered(entries, pairs, level(confidence))), tuple(pairs), confidence, tuple(notes))


def pairs_needed(gap: float, pair: Pairwise, confidence: float) -> int | None:
    """How many pairs it takes to detect a difference of this size, given the rates and correlation of this pair."""
    counts = pair.overall.counts
    if counts is None or not counts.pairs:
        return None
    middle = (2 * counts.both + counts.discordant) / (2 * counts.pairs)
    baseline = min(max(0.0, middle - gap / 2), 1 - gap)
    correlation = min(max(0.0, counts.correlation or 0.0), largest_correlation(baseline, gap))
    return Design(baseline, gap, correlation, POWER, level(confidence)).episodes()


def _compare(a: RunGroup, b: RunGroup, paired: bool, confidence: float) -> Pairwise:
    if len(a.runs) == len(b.runs) == 1:
        return compare_two(a.runs[0], b.runs[0], paired, confidence)
    return compare_methods(a, b, paired, confidence)


def _entry(group: RunGroup, confidence: float) -> ComparisonEntry:
    outcomes = [outcome.success for run in group.runs for outcome in run.outcomes.values()]
    errors = outcomes.count(None)
    names = tuple(run.name for run in group.runs)
    if found := spread_between_seeds(group, confidence):
        spread, shared = found
        return ComparisonEntry(group.name, names, Counts(*shared, errors), spread.interval, seeds=spread)
    counts = Counts(outcomes.count(True), len(outcomes) - errors, errors)
    return ComparisonEntry(group.name, names, counts, wilson(counts.successes, counts.episodes, confidence))


def _lettered(entries: Sequence[ComparisonEntry], pairs: Sequence[Pairwise], alpha: float) -> list[ComparisonEntry]:
    """Assign letters; the best entry gets the first."""
    best_first = sorted(entries, key=lambda entry: -(entry.counts.rate or 0.0))
    place = {entry.name: number for number, entry in enumerate(best_first)}
    different = {
        (min(place[pair.a], place[pair.b]), max(place[pair.a], place[pair.b])) for pair in pairs if pair.better(alpha)
    }
    own = letters(len(entries), different)
    return [replace(entry, letters=own[place[entry.name]]) for entry in entries]


def _entry_json(entry: ComparisonEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "runs": list(entry.runs),
        "successes": entry.counts.successes,
        "episodes": entry.counts.episodes,
        "errors": entry.counts.errors,
        "rate": entry.counts.rate,
        "interval": asdict(entry.interval),
        "letters": entry.letters,
        "training_seeds": asdict(entry.seeds) if entry.seeds else None,
    }


def _pair_json(pair: Pairwise, alpha: float) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "method": pair.method,
        "paired": bool(pair.pairs),
        "better": pair.better(alpha),
        "overall": _difference_json(pair.overall),
        "per_task": [_difference_json(row) for row in pair.tasks],
        "errors": asdict(pair.errors) if pair.errors else None,
        "unmatched_a": pair.unmatched_a,
        "unmatched_b": pair.unmatched_b,
        "notes": list(pair.notes),
    }


def _difference_json(row: Difference) -> dict[str, Any]:
    counts = row.counts
    return {
        "task": row.task or None,
        "a": {"successes": row.a.successes, "episodes": row.a.trials},
        "b": {"successes": row.b.successes, "episodes": row.b.trials},
        "difference": None if math.isnan(row.difference) else row.difference,
        "interval": asdict(row.interval),
        "p_value": row.p_value,
        "p_adjusted": row.p_adjusted,
        "pairs": None
        if counts is None
        else {**asdict(counts), "total": counts.pairs, "correlation": counts.correlation},
    }
