"""Compares methods: several training seeds of each, taken together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from yardarm.comparison.outcomes import EpisodeName, RunOutcomes
from yardarm.comparison.pairing import same_start
from yardarm.comparison.pairwise import (
    Difference,
    Pairwise,
    adjusted,
    differing_options,
    differing_versions,
    left_out_note,
)
from yardarm.errors import UsageError
from yardarm.stats import CONFIDENCE, SeedSpread, TaskCounts, method_difference, seed_spread

__all__ = ["RunGroup", "compare_methods", "group_by_method", "spread_between_seeds"]

NOT_SHARED = "ended in errors, or are not in all runs"


@dataclass(frozen=True, slots=True)
class RunGroup:
    """One run, or the runs of a method with different training seeds."""

    name: str
    runs: tuple[RunOutcomes, ...]


def group_by_method(runs: Sequence[RunOutcomes]) -> list[RunGroup]:
    """Group runs of the same method that have different training seeds."""
    groups: dict[str, list[RunOutcomes]] = {}
    for run in runs:
        groups.setdefault(f"method {run.method}" if run.method else f"run {run.name}", []).append(run)
    found = []
    for own in groups.values():
        seeds = [run.training_seed for run in own]
        for seed in seeds:
            if seeds.count(seed) > 1:
                twice = " and ".join(run.name for run in own if run.training_seed == seed)
                which = "no training seed" if seed is None else f"training seed {seed}"
                raise UsageError(
                    f"{twice} both have method '{own[0].method}' and {which}; give each run its own "
                    "--training_seed, or omit one of them"
                )
        name = f"{own[0].method} ({len(own)} training seeds)" if len(own) > 1 else own[0].name
        found.append(RunGroup(name, tuple(own)))
    return found


def spread_between_seeds(group: RunGroup, confidence: float = CONFIDENCE) -> tuple[SeedSpread, TaskCounts] | None:
    """The spread of a method's training seeds on the episodes that all have, and the counts of those episodes."""
    names = common_episodes(group.runs)
    if len(group.runs) < 2 or len(names) < 2:
        return None
    table = _table(group.runs, names)
    return seed_spread(table, confidence), _counts(table)


def compare_methods(a: RunGroup, b: RunGroup, paired: bool = True, confidence: float = CONFIDENCE) -> Pairwise:
    """Compare the means over training seeds; intervals hold for new seeds and new episodes."""
    both = common_episodes([*a.runs, *b.runs]) if paired else []
    names_a, names_b = (both, both) if both else (common_episodes(a.runs), common_episodes(b.runs))
    tasks = [task for task in dict.fromkeys(name.task for name in names_a) if task in {name.task for name in names_b}]
    if not tasks:
        raise UsageError(
            f"{a.name} and {b.name} have no task with episodes that all runs of each method finished from the same "
            f"initial states{_versions_of([*a.runs, *b.runs])}; compare single runs instead"
        )
    by_a = {task: [name for name in names_a if name.task == task] for task in tasks}
    by_b = {task: [name for name in names_b if name.task == task] for task in tasks}

    def row(label: str, own: Sequence[str]) -> Difference:
        table_a = _table(a.runs, [name for task in own for name in by_a[task]])
        table_b = _table(b.runs, [name for task in own for name in by_b[task]])
        found = method_difference(table_a, table_b, bool(both), confidence)
        return Difference(label, _counts(table_a), _counts(table_b), found.difference, found.interval, found.p_value)

    unmatched = _unmatched(a, by_a), _unmatched(b, by_b)
    return Pairwise(
        a=a.name,
        b=b.name,
        method="training seeds",
        overall=row("", tasks),
        tasks=adjusted([row(task, [task]) for task in tasks]),
        pairs=len(both),
        unmatched_a=unmatched[0],
        unmatched_b=unmatched[1],
        notes=(
            *_notes(a, b, asked=not paired, paired=bool(both)),
            *left_out_note(a.name, b.name, unmatched, NOT_SHARED),
        ),
    )


def _unmatched(group: RunGroup, used: Mapping[str, Sequence[EpisodeName]]) -> int:
    """How many episodes of the group's runs are left out."""
    return sum(len(run.outcomes) for run in group.runs) - len(group.runs) * sum(map(len, used.values()))


def _notes(a: RunGroup, b: RunGroup, *, asked: bool, paired: bool) -> list[str]:
    notes = differing_options(a.runs[0], b.runs[0]) + _differing_from_first([*a.runs, *b.runs])
    if not paired:
        reason = "as requested" if asked else "no episode is in all of their runs"
        notes.append(f"{a.name} and {b.name} are not paired ({reason})")
    for one in (a, b):
        if len(one.runs) == 1:
            notes.append(
                f"{one.name} is a single training seed: the spread of its method is unknown, so the comparison is with "
                "this one checkpoint"
            )
    return notes


def _differing_from_first(runs: Sequence[RunOutcomes]) -> list[str]:
    return [note for run in runs[1:] for note in differing_versions(runs[0], run)]


def _versions_of(runs: Sequence[RunOutcomes]) -> str:
    notes = _differing_from_first(runs)
    return f" ({'; '.join(notes)})" if notes else ""


def common_episodes(runs: Sequence[RunOutcomes]) -> list[EpisodeName]:
    """Episodes that all runs finished, from the same initial state."""
    first, *others = runs
    return [
        name
        for name, own in first.outcomes.items()
        if own.success is not None and own.pairable and all(_has(other, name, first) for other in others)
    ]


def _has(run: RunOutcomes, name: EpisodeName, first: RunOutcomes) -> bool:
    outcome = run.outcomes.get(name)
    if outcome is None or outcome.success is None or not outcome.pairable:
        return False
    return same_start(first.outcomes[name], outcome)


def _table(runs: Sequence[RunOutcomes], names: Sequence[EpisodeName]) -> np.ndarray:
    return np.array([[float(bool(run.outcomes[name].success)) for name in names] for run in runs])


def _counts(table: np.ndarray) -> TaskCounts:
    return TaskCounts(int(table.sum()), table.size)
