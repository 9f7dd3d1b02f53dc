"""Describes the state of a run that may stop early."""

from __future__ import annotations

from collections.abc import Iterator

from yardarm.report.table import percent, points
from yardarm.results import BUDGET_SPENT, PairedEvidence, RateEvidence, StoppingRecord
from yardarm.stats import Interval

__all__ = ["judged_text", "stopping_lines"]


def stopping_lines(state: StoppingRecord) -> Iterator[str]:
    """The decision, its evidence, and how many episodes it saved."""
    found = state.evidence
    yield from _decided_lines(state, found) if isinstance(found, PairedEvidence) else _precision_lines(state, found)
    if state.played is not None and (uncounted := state.played - state.released * state.players):
        yield (
            f"{uncounted} more episode(s) finished before their turn; they are kept but not counted, because the "
            "quickest episodes are not a fair sample."
        )


def judged_text(state: StoppingRecord) -> str:
    """The current state in a few words."""
    found = state.evidence
    if isinstance(found, PairedEvidence):
        return f"{found.pairs} pairs judged: only A solved {found.only_a}, only B {found.only_b}"
    low, high = found.interval
    return f"{found.successes}/{found.episodes} judged, ± {50 * (high - low):.1f} points"


def _decided_lines(state: StoppingRecord, found: PairedEvidence) -> Iterator[str]:
    used, most = state.released, state.maximum
    evidence = f"Only A solved {found.only_a}, only B {found.only_b} of {found.pairs} pairs"
    level = f"{100 * (1 - state.declared.confidence):.3g}% level, exact sequential McNemar test"
    match state.decision:
        case "a":
            yield f"Decided: A is better than B. {evidence} ({level})."
        case "b":
            yield f"Decided: B is better than A. {evidence} ({level})."
        case _ if state.decision == BUDGET_SPENT:
            yield f"Not decided within the budget: neither is significantly better. {evidence} ({level})."
        case _:
            yield f"Not decided yet, after {used} of {most} pairs. {evidence}."
    for label, name, alone in (("A", state.a, found.only_a), ("B", state.b, found.only_b)):
        yield f"  {label}: {name}, {found.both + alone}/{found.pairs} solved"
    if found.difference is not None:
        yield _difference(state, found, found.difference)
    if state.decision in ("a", "b") and used < most:
        yield f"Decided after {used} of at most {most} pairs; {_saved(state)}."
    if state.dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in state.dropped.items() if count)
        yield f"Dropped pairs: {reasons}."


def _difference(state: StoppingRecord, found: PairedEvidence, difference: float) -> str:
    low, high = found.difference_interval
    text = (
        f"A − B: {points(difference)} points, {100 * state.declared.confidence:.3g}% interval {points(low)} to "
        f"{points(high)} (valid at any stopping time, and therefore wide)."
    )
    if state.decision not in ("a", "b"):
        return text
    if low <= 0 <= high:
        text += " It includes 0 although the test has decided: the test answers only that question, with more power."
    return f"{text} After an early stop the estimated difference tends to be too large."


def _saved(state: StoppingRecord) -> str:
    planned, played = state.maximum * state.players, state.played or 0
    return f"saved {planned - played} of {planned} episodes ({1 - played / planned:.0%})"


def _precision_lines(state: StoppingRecord, found: RateEvidence) -> Iterator[str]:
    low, high = found.interval
    interval = Interval(low, high, state.declared.confidence)
    width = f"half-width {100 * interval.half_width:.1f} points"
    text = (
        f"{percent(found.rate)}, {100 * interval.confidence:.3g}% interval {percent(interval.low)} – "
        f"{percent(interval.high)} ({width}; valid at any stopping time)"
    )
    used, most = state.released, state.maximum
    match state.decision:
        case "precise":
            yield f"Precise enough after {used} of at most {most} episodes: {text}; {_saved(state)}."
        case _ if state.decision == BUDGET_SPENT:
            wanted = 100 * (state.declared.half_width or 0)
            yield f"Did not reach ± {wanted:.3g} points within {most} episodes: {text}."
        case _:
            yield f"Not precise enough yet, after {used} of {most} episodes: {text}."
    if state.dropped:
        yield f"Episodes dropped because of errors: {sum(state.dropped.values())}."
