"""Compares two runs: task by task, and over all tasks they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from yardarm.comparison.outcomes import RunOutcomes
from yardarm.comparison.pairing import Pair, Pairing, find_pairs
from yardarm.errors import UsageError
from yardarm.results import version_changes
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

__all__ = [
    "Difference",
    "ErrorBounds",
    "Pairwise",
    "adjusted",
    "compare_two",
    "differing_options",
    "differing_versions",
    "left_out_note",
]

Outcomes = Sequence[bool | None]
OTHER_STARTS = "start in different states, or in states that cannot be read"


@dataclass(frozen=True, slots=True)
class Difference:
    """The rate of A minus the rate of B, on one task or on all; nan if unknown."""

    task: str
    a: TaskCounts
    b: TaskCounts
    difference: float
    interval: Interval
    p_value: float
    counts: PairedCounts | None = None
    """Counts of the paired outcomes; None if the runs are not paired."""
    p_adjusted: float | None = None
    """Corrected for the number of tasks or comparisons (Holm)."""


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """The difference over all tasks if every error counted against A, and if every error counted in its favour."""

    errors_a: int
    errors_b: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, a: Outcomes, b: Outcomes) -> ErrorBounds | None:
        """None if there are no errors."""
        if None not in a and None not in b:
            return None
        lowest, highest = _rate(a, error=False) - _rate(b, error=True), _rate(a, error=True) - _rate(b, error=False)
        return cls(list(a).count(None), list(b).count(None), lowest, highest)


@dataclass(frozen=True, slots=True)
class Pairwise:
    """The comparison of two runs."""

    a: str
    b: str
    method: Literal["mcnemar", "boschloo", "training seeds"]
    overall: Difference
    tasks: tuple[Difference, ...]
    errors: ErrorBounds | None = None
    pairs: int = 0
    unmatched_a: int = 0
    unmatched_b: int = 0
    notes: tuple[str, ...] = ()

    def better(self, alpha: float) -> str | None:
        """The run that is significantly better at this level, or None."""
        p_value = self.overall.p_value if self.overall.p_adjusted is None else self.overall.p_adjusted
        if p_value >= alpha or not self.overall.difference:
            return None
        return self.a if self.overall.difference > 0 else self.b


def compare_two(a: RunOutcomes, b: RunOutcomes, paired: bool = True, confidence: float = CONFIDENCE) -> Pairwise:
    """Compare on the episodes that both have; without any, compare the rates on the tasks that both have."""
    in_b = set(b.tasks)
    common = [task for task in a.tasks if task in in_b]
    if not common:
        raise UsageError(
            f"{a.name} and {b.name} have no task in common: {', '.join(a.tasks[:3])} … and {', '.join(b.tasks[:3])} …"
        )
    pairing = find_pairs(a, b)
    if paired and pairing.pairs:
        return _paired(a, b, pairing, confidence)
    reason = _why_unpaired(a, b, pairing) if paired else "as requested"
    return _unpaired(a, b, common, reason, confidence)


def _paired(a: RunOutcomes, b: RunOutcomes, pairing: Pairing, confidence: float) -> Pairwise:
    by_task: dict[str, list[Pair]] = {}
    for pair in pairing.pairs:
        by_task.setdefault(pair.name.task, []).append(pair)
    return Pairwise(
        a=a.name,
        b=b.name,
        method="mcnemar",
        overall=_paired_difference("", pairing.pairs, confidence),
        tasks=adjusted([_paired_difference(task, pairs, confidence) for task, pairs in by_task.items()]),
        errors=ErrorBounds.of([pair.a for pair in pairing.pairs], [pair.b for pair in pairing.pairs]),
        pairs=len(pairing.pairs),
        unmatched_a=pairing.unmatched_a,
        unmatched_b=pairing.unmatched_b,
        notes=(*differing_options(a, b), *differing_versions(a, b), *_pairing_notes(a, b, pairing)),
    )


def _paired_difference(task: str, pairs: Sequence[Pair], confidence: float) -> Difference:
    counts = PairedCounts.of((bool(pair.a), bool(pair.b)) for pair in pairs if pair.known)
    a = TaskCounts(counts.both + counts.only_a, counts.pairs)
    b = TaskCounts(counts.both + counts.only_b, counts.pairs)
    return Difference(task, a, b, counts.difference, bonett_price(counts, confidence), mcnemar(counts), counts)


def _unpaired(a: RunOutcomes, b: RunOutcomes, common: Sequence[str], reason: str, confidence: float) -> Pairwise:
    own_a, own_b = _equally_weighted(_by_task(a, common), _by_task(b, common))
    rows = [_unpaired_difference(task, own_a[task], own_b[task], confidence) for task in common]
    all_a = [outcome for task in common for outcome in own_a[task]]
    all_b = [outcome for task in common for outcome in own_b[task]]
    overall = _unpaired_difference("", all_a, all_b, confidence) if len(rows) > 1 else replace(rows[0], task="")
    unmatched = len(a.outcomes) - len(all_a), len(b.outcomes) - len(all_b)
    why = f"not paired ({reason}): the rates are compared with Boschloo's test for different episodes, which needs more"
    weights = "belong to tasks that the other run lacks, or has fewer episodes of"
    return Pairwise(
        a=a.name,
        b=b.name,
        method="boschloo",
        overall=overall,
        tasks=adjusted(rows),
        errors=ErrorBounds.of(all_a, all_b),
        unmatched_a=unmatched[0],
        unmatched_b=unmatched[1],
        notes=(
            *differing_options(a, b),
            *differing_versions(a, b),
            why,
            *left_out_note(a.name, b.name, unmatched, weights),
        ),
    )


def _unpaired_difference(task: str, a: Outcomes, b: Outcomes, confidence: float) -> Difference:
    counts_a, counts_b = _counts(a), _counts(b)
    known = counts_a.trials and counts_b.trials
    difference = counts_a.successes / counts_a.trials - counts_b.successes / counts_b.trials if known else math.nan
    interval = newcombe(counts_a, counts_b, confidence)
    return Difference(task, counts_a, counts_b, difference, interval, boschloo(counts_a, counts_b))


def _counts(outcomes: Outcomes) -> TaskCounts:
    known = [outcome for outcome in outcomes if outcome is not None]
    return TaskCounts(sum(known), len(known))


def _rate(outcomes: Outcomes, *, error: bool) -> float:
    return sum(error if outcome is None else outcome for outcome in outcomes) / len(outcomes)


def _by_task(run: RunOutcomes, tasks: Sequence[str]) -> dict[str, list[bool | None]]:
    """The outcomes of these tasks, ordered by index."""
    found: dict[str, list[bool | None]] = {task: [] for task in tasks}
    for name in sorted(run.outcomes):
        if name.task in found:
            found[name.task].append(run.outcomes[name].success)
    return found


def _equally_weighted(
    a: dict[str, list[bool | None]], b: dict[str, list[bool | None]]
) -> tuple[dict[str, list[bool | None]], dict[str, list[bool | None]]]:
    """If the runs weigh tasks differently, keep only as many episodes of each task as both have."""
    if len({len(a[task]) / len(b[task]) for task in a}) == 1:
        return a, b
    shorter = {task: min(len(a[task]), len(b[task])) for task in a}
    return {task: a[task][: shorter[task]] for task in a}, {task: b[task][: shorter[task]] for task in b}


def adjusted(rows: Sequence[Difference]) -> tuple[Difference, ...]:
    """The rows with p-values corrected for their number (Holm)."""
    values = holm([row.p_value for row in rows])
    return tuple(replace(row, p_adjusted=value) for row, value in zip(rows, values, strict=True))


def left_out_note(a: str, b: str, unmatched: tuple[int, int], reason: str) -> list[str]:
    """A note on the episodes that are left out, and why; empty if there are none."""
    parts = [f"{count} episodes of {name}" for count, name in zip(unmatched, (a, b), strict=True) if count]
    return [f"{' and '.join(parts)} {reason}; they are left out"] if parts else []


def differing_options(a: RunOutcomes, b: RunOutcomes) -> list[str]:
    """A note on environment options that differ between the runs."""
    notes = []
    for world in [world for world in a.env if world in b.env]:
        one, other = a.env[world], b.env[world]
        changed = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        if changed:
            values = "; ".join(f"{name}: {one.get(name)} and {other.get(name)}" for name in changed)
            notes.append(f"{a.name} and {b.name} have different {world} options ({values})")
    return notes


def differing_versions(a: RunOutcomes, b: RunOutcomes) -> list[str]:
    """A note on versions that differ: they can change the physics, the initial states, or the policy's actions."""
    there = {change.what: f"{change.was} and {change.now}" for change in version_changes(a.software, b.software)}
    back = {change.what: f"{change.now} and {change.was}" for change in version_changes(b.software, a.software)}
    listed = "; ".join(f"{what} {versions}" for what, versions in (back | there).items())
    return [f"{a.name} and {b.name} were made with different versions ({listed})"] if listed else []


def _why_unpaired(a: RunOutcomes, b: RunOutcomes, pairing: Pairing) -> str:
    if pairing.different_starts:
        return f"{pairing.different_starts} episodes have the same seed but {OTHER_STARTS}"
    shifted = {(name.task, name.seed) for name in a.outcomes} & {(name.task, name.seed) for name in b.outcomes}
    hint = f"; {len(shifted)} seeds are in both at different indices: give both runs the same --seed" if shifted else ""
    return f"the runs share no task, index and seed{hint}"


def _pairing_notes(a: RunOutcomes, b: RunOutcomes, pairing: Pairing) -> list[str]:
    notes = []
    if pairing.different_starts:
        notes.append(f"{pairing.different_starts} episodes have the same seed but {OTHER_STARTS}; they are left out")
    if pairing.unchecked:
        notes.append(
            f"{pairing.unchecked} of {len(pairing.pairs)} pairs are matched by task, index and seed only: initial "
            "states are not recorded in both runs"
        )
    unmatched = pairing.unmatched_a, pairing.unmatched_b
    return notes + left_out_note(
        a.name, b.name, unmatched, "have no counterpart (--unpaired=true compares the rates of all episodes)"
    )
