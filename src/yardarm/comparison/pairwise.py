"""Compares two runs: task by task, and over all tasks that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from yardarm.comparison.outcomes import RunOutcomes
from yardarm.comparison.pairing import Pair, Pairing, find_pairs
from yardarm.errors import UsageError
from yardarm.stats import (
    CONFIDENCE,
    Interval,
    PairedCounts,
    TaskCounts,
    bonett_price,
    boschloo,
    holm,
    mcnemar,
    newcombe,
)

__all__ = ["Difference", "ErrorReadings", "Pairwise", "compare_two", "episodes"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The rate of A less the rate of B, on one task or on all."""

    task: str
    a: TaskCounts
    b: TaskCounts
    difference: float
    interval: Interval
    p_value: float
    counts: PairedCounts | None = None
    """How the pairs went; None if the runs are not paired."""
    p_adjusted: float | None = None
    """Allowing for the number of tasks, or of comparisons (Holm)."""


@dataclass(frozen=True, slots=True)
class ErrorReadings:
    """The difference over all tasks if every error had gone against A, and if every one had gone for it."""

    errors_a: int
    errors_b: int
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The comparison of two runs."""

    a: str
    b: str
    method: Literal["mcnemar", "boschloo", "training seeds"]
    overall: Difference
    tasks: tuple[Difference, ...]
    errors: ErrorReadings | None = None
    pairs: int = 0
    unmatched_a: int = 0
    unmatched_b: int = 0
    notes: tuple[str, ...] = field(default=())

    def better(self, alpha: float) -> str | None:
        """The run that is better at this level, or None if that cannot be told."""
        p_value = self.overall.p_value if self.overall.p_adjusted is None else self.overall.p_adjusted
        if p_value >= alpha or not self.overall.difference:
            return None
        return self.a if self.overall.difference > 0 else self.b


def compare_two(a: RunOutcomes, b: RunOutcomes, paired: bool = True, confidence: float = CONFIDENCE) -> Pairwise:
    """Compare on the episodes that both have; if there are none, the rates on the tasks that both have."""
    common = [task for task in a.tasks if task in b.tasks]
    if not common:
        raise UsageError(
            f"{a.name} and {b.name} have no task in common: {', '.join(a.tasks[:3])} … and {', '.join(b.tasks[:3])} …"
        )
    pairing = find_pairs(a, b)
    if paired and pairing.pairs:
        return _paired(a, b, pairing, confidence)
    return _unpaired(a, b, common, pairing, asked=not paired, confidence=confidence)


def _paired(a: RunOutcomes, b: RunOutcomes, pairing: Pairing, confidence: float) -> Pairwise:
    by_task: dict[str, list[Pair]] = {}
    for pair in pairing.pairs:
        by_task.setdefault(pair.name.task, []).append(pair)
    rows = [_paired_difference(task, pairs, confidence) for task, pairs in by_task.items()]
    return Pairwise(
        a.name,
        b.name,
        "mcnemar",
        _paired_difference("", pairing.pairs, confidence),
        _adjusted(rows),
        _paired_readings(pairing.pairs),
        len(pairing.pairs),
        pairing.unmatched_a,
        pairing.unmatched_b,
        (*_differing_options(a, b), *_pairing_notes(a, b, pairing)),
    )


def _paired_difference(task: str, pairs: Sequence[Pair], confidence: float) -> Difference:
    counts = PairedCounts.of((bool(pair.a), bool(pair.b)) for pair in pairs if pair.known)
    a = TaskCounts(counts.both + counts.only_a, counts.pairs)
    b = TaskCounts(counts.both + counts.only_b, counts.pairs)
    return Difference(task, a, b, counts.difference, bonett_price(counts, confidence), mcnemar(counts), counts)


def _paired_readings(pairs: Sequence[Pair]) -> ErrorReadings | None:
    if all(pair.known for pair in pairs):
        return None
    return _readings([pair.a for pair in pairs], [pair.b for pair in pairs])


def _readings(a: Sequence[bool | None], b: Sequence[bool | None]) -> ErrorReadings:
    def rate(outcomes: Sequence[bool | None], error: bool) -> float:
        return sum(error if outcome is None else outcome for outcome in outcomes) / len(outcomes)

    return ErrorReadings(a.count(None), b.count(None), rate(a, False) - rate(b, True), rate(a, True) - rate(b, False))


def _unpaired(
    a: RunOutcomes, b: RunOutcomes, common: Sequence[str], pairing: Pairing, *, asked: bool, confidence: float
) -> Pairwise:
    own_a, own_b = _alike(a, b, common)
    rows = [_unpaired_difference(task, own_a[task], own_b[task], confidence) for task in common]
    all_a = [outcome for task in common for outcome in own_a[task]]
    all_b = [outcome for task in common for outcome in own_b[task]]
    reason = "as asked for" if asked else _why_unpaired(pairing)
    notes = [
        f"not paired ({reason}): rates of different episodes are compared, by Boschloo's test, which needs more of them"
    ]
    if None in all_a or None in all_b:
        errors = _readings(all_a, all_b)
    else:
        errors = None
    used = sum(len(own_a[task]) for task in common), sum(len(own_b[task]) for task in common)
    return Pairwise(
        a.name,
        b.name,
        "boschloo",
        _unpaired_difference("", all_a, all_b, confidence),
        _adjusted(rows),
        errors,
        0,
        len(a.outcomes) - used[0],
        len(b.outcomes) - used[1],
        (*_differing_options(a, b), *notes),
    )


def _unpaired_difference(
    task: str, a: Sequence[bool | None], b: Sequence[bool | None], confidence: float
) -> Difference:
    counts_a = TaskCounts(a.count(True), len(a) - a.count(None))
    counts_b = TaskCounts(b.count(True), len(b) - b.count(None))
    if counts_a.trials and counts_b.trials:
        difference = counts_a.successes / counts_a.trials - counts_b.successes / counts_b.trials
    else:
        difference = float("nan")
    interval = newcombe(counts_a, counts_b, confidence)
    return Difference(task, counts_a, counts_b, difference, interval, boschloo(counts_a, counts_b))


def _alike(
    a: RunOutcomes, b: RunOutcomes, common: Sequence[str]
) -> tuple[dict[str, list[bool | None]], dict[str, list[bool | None]]]:
    """The outcomes by task. Where the runs weigh tasks differently, only as many of each task as both have."""
    own_a, own_b = episodes(a, common), episodes(b, common)
    ratios = {len(own_a[task]) / len(own_b[task]) for task in common}
    if len(ratios) > 1:
        for task in common:
            shorter = min(len(own_a[task]), len(own_b[task]))
            own_a[task], own_b[task] = own_a[task][:shorter], own_b[task][:shorter]
    return own_a, own_b


def episodes(run: RunOutcomes, tasks: Sequence[str]) -> dict[str, list[bool | None]]:
    """The outcomes of some tasks, in the order of their index."""
    found: dict[str, list[bool | None]] = {task: [] for task in tasks}
    for name in sorted(run.outcomes):
        if name.task in found:
            found[name.task].append(run.outcomes[name].success)
    return found


def _adjusted(rows: Sequence[Difference]) -> tuple[Difference, ...]:
    adjusted = holm([row.p_value for row in rows])
    return tuple(replace(row, p_adjusted=value) for row, value in zip(rows, adjusted, strict=True))


def _why_unpaired(pairing: Pairing) -> str:
    if pairing.different_starts:
        return f"{pairing.different_starts} episodes have the same seed but begin in different states"
    return "no task, index and seed is in both runs"


def _pairing_notes(a: RunOutcomes, b: RunOutcomes, pairing: Pairing) -> list[str]:
    notes = []
    if pairing.different_starts:
        notes.append(
            f"{pairing.different_starts} episodes have the same seed but begin in different states, and are left out"
        )
    if not pairing.checked:
        notes.append("paired by task, index and seed alone: initial states are not recorded in both runs")
    if pairing.unmatched_a or pairing.unmatched_b:
        notes.append(
            f"{pairing.unmatched_a} episodes of {a.name} and {pairing.unmatched_b} of {b.name} have no partner, and "
            "are left out; --unpaired=true compares the rates of all"
        )
    return notes


def _differing_options(a: RunOutcomes, b: RunOutcomes) -> list[str]:
    """Policies may look at their world differently, but it should be the same world."""
    notes = []
    for world in [world for world in a.env if world in b.env]:
        one, other = a.env[world], b.env[world]
        changed = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        if changed:
            values = "; ".join(f"{name}: {one.get(name)} and {other.get(name)}" for name in changed)
            notes.append(f"{a.name} and {b.name} have different options of {world} ({values})")
    return notes
