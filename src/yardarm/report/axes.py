"""Results on matplotlib's axes, in the user's own style: for notebooks. `figures` draws what papers print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yardarm.errors import SetupError
from yardarm.report.forest import ForestPlot, Mark, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve", "draw_forest"]

# In inches.
WIDTH, ROW, LINE, AROUND = 6.4, 0.28, 0.18, 1.0
# In letters.
LONGEST_LABEL, LONGEST_NOTE = 40, 70
# How far apart the columns beside the axes are, as a share of their width.
COLUMN = 0.14
PERCENT = 100.0

Point = Mapping[str, Any]


def draw_forest(plot: ForestPlot, axes: Axes | None = None) -> Axes:
    """Rows of estimates with intervals, the first on top; on new axes, unless some are given."""
    notes, scale = _filled(plot.notes), plot.scale
    axes = axes or _new_axes(ROW * len(plot.marks) + LINE * len(notes) + AROUND)
    for row, mark in enumerate(plot.marks):
        if mark.value is not None:
            _draw_mark(axes, mark, row)
        _write_cells(axes, mark.cells, row, va="center")
    _write_cells(axes, plot.headings, -0.6, va="bottom", color="0.5")
    labels = ["\n".join(wrapped(mark.label.replace("\n", " "), LONGEST_LABEL)) for mark in plot.marks]
    axes.set_yticks(range(len(labels)), labels)
    for label, mark in zip(axes.get_yticklabels(), plot.marks, strict=True):
        label.set_fontweight("normal" if mark.kind == "task" else "bold")
    axes.set(xlim=(scale.low, scale.high), ylim=(len(plot.marks) - 0.5, -0.5))
    axes.set_xticks(scale.ticks, [f"{PERCENT * tick:.0f}".replace("-", "−") for tick in scale.ticks])
    axes.set_xlabel("\n".join((scale.label, *notes)))
    axes.grid(axis="x", alpha=0.3)
    if scale.line_at is not None:
        axes.axvline(scale.line_at, color="0.5", linewidth=1, zorder=1)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return axes


def draw_curve(points: Sequence[Point], axes: Axes | None = None) -> Axes:
    """A training's loss by step, and the success rates of its evaluations with their intervals on an axis of theirs."""
    axes = axes or _new_axes(3.6)
    handles: list[Any] = []
    for kind, label in (("train", "loss"), ("validation", "held-out loss")):
        own = [point for point in points if point["kind"] == kind]
        if own:
            handles += axes.plot([point["step"] for point in own], [point["loss"] for point in own], label=label)
    axes.set(xlabel="step", ylabel="loss")
    solved = [point for point in points if point["kind"] == "evaluation" and point.get("rate") is not None]
    if solved:
        handles.append(_draw_rates(axes, solved))
    if len(handles) > 1:
        axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    return axes


def _draw_rates(axes: Axes, points: Sequence[Point]) -> Any:
    rates = [PERCENT * point["rate"] for point in points]
    below = [rate - PERCENT * point["low"] for rate, point in zip(rates, points, strict=True)]
    above = [PERCENT * point["high"] - rate for rate, point in zip(rates, points, strict=True)]
    steps = [point["step"] for point in points]
    right = axes.twinx()
    drawn = right.errorbar(steps, rates, yerr=(below, above), fmt="o-", color="C3", capsize=3, label="success rate")
    right.set(ylabel="success rate (%)", ylim=(-3, 103))
    return drawn


def _draw_mark(axes: Axes, mark: Mark, row: int) -> None:
    assert mark.value is not None
    alone = mark.kind == "task"
    colour = "C0" if alone else axes.xaxis.label.get_color()
    axes.hlines(row, mark.interval.low, mark.interval.high, color=colour, linewidth=1.5 if alone else 2.5)
    face = colour if mark.filled else axes.get_facecolor()
    axes.plot(mark.value, row, "o" if alone else "D", color=colour, markerfacecolor=face, clip_on=False, zorder=3)


def _write_cells(axes: Axes, cells: Sequence[str], row: float, **style: Any) -> None:
    """Write texts to the right of a row."""
    for column, cell in enumerate(cells):
        place = (1.02 + COLUMN * column, row)
        axes.annotate(cell, place, xycoords=axes.get_yaxis_transform(), annotation_clip=False, **style)


def _filled(notes: Sequence[str]) -> list[str]:
    """Put as many notes on a line as fit."""
    lines: list[str] = []
    for note in notes:
        if lines and len(lines[-1]) + len(note) < LONGEST_NOTE:
            lines[-1] += f"    {note}"
        else:
            lines.append(note)
    return lines


def _new_axes(height: float) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise SetupError(
            "plot() needs matplotlib, which is not installed; run: pip install 'yardarm[notebook]'"
        ) from error
    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]
