"""Describes the state of a run that may stop early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from yardarm.report.table import percent, points
from yardarm.results import BUDGET_SPENT
from yardarm.stats import Interval

__all__ = ["judged_text", "stopping_lines"]


def stopping_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """The decision, its evidence, and how many episodes it saved."""
    yield from (_decided_lines if state["rule"] == "decided" else _precision_lines)(state)
    if uncounted := state["played"] - state["released"] * state["players"]:
        yield (
            f"{uncounted} more episode(s) finished before their turn; they are kept but not counted, because the "
            "quickest episodes are not a fair sample."
        )


def judged_text(state: Mapping[str, Any]) -> str:
    """The current state in a few words."""
    if state["rule"] == "decided":
        return f"{state['pairs']} pairs judged: only A solved {state['only_a']}, only B {state['only_b']}"
    low, high = state["interval"]
    return f"{state['successes']}/{state['episodes']} judged, ± {50 * (high - low):.1f} points"


def _decided_lines(state: Mapping[str, Any]) -> Iterator[str]:
    a, b, used, most = state["a"], state["b"], state["released"], state["maximum"]
    evidence = f"Only A solved {state['only_a']}, only B {state['only_b']} of {state['pairs']} pairs"
    level = f"{100 * (1 - state['confidence']):.3g}% level, exact sequential McNemar test"
    match state["decision"]:
        case "a":
            yield f"Decided: A is better than B. {evidence} ({level})."
        case "b":
            yield f"Decided: B is better than A. {evidence} ({level})."
        case _ if state["decision"] == BUDGET_SPENT:
            yield f"Not decided within the budget: neither is significantly better. {evidence} ({level})."
        case _:
            yield f"Not decided yet, after {used} of {most} pairs. {evidence}."
    for label, name, alone in (("A", a, state["only_a"]), ("B", b, state["only_b"])):
        yield f"  {label}: {name}, {state['both'] + alone}/{state['pairs']} solved"
    if state["difference"] is not None:
        yield _difference(state)
    if state["decision"] in ("a", "b") and used < most:
        yield f"Decided after {used} of at most {most} pairs; {_saved(state)}."
    if state["dropped"]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in state["dropped"].items() if count)
        yield f"Dropped pairs: {reasons}."


def _difference(state: Mapping[str, Any]) -> str:
    low, high = state["difference_interval"]
    text = (
        f"A − B: {points(state['difference'])} points, {100 * state['confidence']:.3g}% interval {points(low)} to "
        f"{points(high)} (valid at any stopping time, and therefore wide)."
    )
    if state["decision"] not in ("a", "b"):
        return text
    if low <= 0 <= high:
        text += " It includes 0 although the test has decided: the test answers only that question, with more power."
    return f"{text} After an early stop the estimated difference tends to be too large."


def _saved(state: Mapping[str, Any]) -> str:
    planned = state["maximum"] * state["players"]
    return f"saved {planned - state['played']} of {planned} episodes ({1 - state['played'] / planned:.0%})"


def _precision_lines(state: Mapping[str, Any]) -> Iterator[str]:
    low, high = state["interval"]
    interval = Interval(low, high, state["confidence"])
    width = f"half-width {100 * interval.half_width:.1f} points"
    text = (
        f"{percent(state['rate'])}, {100 * state['confidence']:.3g}% interval {percent(interval.low)} – "
        f"{percent(interval.high)} ({width}; valid at any stopping time)"
    )
    used, most = state["released"], state["maximum"]
    match state["decision"]:
        case "precise":
            yield f"Precise enough after {used} of at most {most} episodes: {text}; {_saved(state)}."
        case _ if state["decision"] == BUDGET_SPENT:
            yield f"Did not reach ± {100 * state['half_width']:.3g} points within {most} episodes: {text}."
        case _:
            yield f"Not precise enough yet, after {used} of {most} episodes: {text}."
    if state["dropped"]:
        yield f"Episodes dropped because of errors: {sum(state['dropped'].values())}."
