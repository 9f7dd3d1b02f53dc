"""A training's learning curve as a sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yardarm.report.sheet import Sheet, Table
from yardarm.report.table import Row, drawn_rate, percent
from yardarm.stats import Interval

__all__ = ["training_sheet"]

Point = Mapping[str, Any]


def training_sheet(points: Sequence[Point], most: int) -> Sheet:
    """The loss at the steps that were evaluated, with the success rates; or at some of the steps that were logged."""
    losses = {point["step"]: point["loss"] for point in points if point["kind"] == "train"}
    finished = [point for point in points if point["kind"] == "evaluation" and point["status"] == "finished"]
    evaluated = {point["step"]: point for point in finished}
    steps = sorted(evaluated or losses)
    shown = steps if len(steps) <= most else [steps[(len(steps) - 1) * row // (most - 1)] for row in range(most)]
    header: Row = ("step", "loss")
    if evaluated:
        confidence = f"{100 * next(iter(evaluated.values()))['confidence']:.4g}%"
        header = (*header, "success", "k/n", f"{confidence} interval")
    return Sheet((Table(header, [_row(step, losses, evaluated.get(step)) for step in shown], left=0),))


def _row(step: int, losses: Mapping[int, float], evaluation: Point | None) -> Row:
    last = max((own for own in losses if own <= step), default=None)
    cells = (f"{step:,}", "-" if last is None else f"{losses[last]:.4g}")
    if evaluation is None:
        return cells
    interval = Interval(evaluation["low"], evaluation["high"], evaluation["confidence"])
    fraction = f"{evaluation['successes']}/{evaluation['episodes']}"
    return (*cells, percent(evaluation["rate"]), fraction, drawn_rate(evaluation["rate"], interval))
