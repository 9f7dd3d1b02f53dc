"""Draws forest plots: rows of estimates with intervals, in black and grey, as wide as a paper's column or page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from yardarm.errors import SetupError
from yardarm.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ForestPlot", "Mark", "Scale", "drawn", "rendered", "wrapped"]

# All lengths are in inches. Columns of journals are 3.3 to 3.5 wide, their pages 6.5 to 7.2.
COLUMN, PAGE = 3.4, 7.0
# This font comes with matplotlib, so figures are the same everywhere.
FONT, FONT_POINTS = "DejaVu Sans", 7.0
LINE = 0.122
ROW_GAP = 0.05
EDGE = 0.04
BETWEEN = 0.09
AXIS = 0.2
"""Height of the ticks and their numbers, below the rows."""
NARROWEST_AXIS = 1.2
INDENT = 0.09
LETTERS_IN_COLUMN, TWO_LINES, LETTERS_IN_PAGE, MOST_LINES = 24, 44, 56, 3
# With this many names, each should fit on one line.
MANY, LETTERS_OF_MANY = 40, 90
WIDE_SPACE = "\u2003"  # an SVG collapses several spaces into one
BLACK, GREY, FAINT = "0", "0.35", "0.85"
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    "font.size": FONT_POINTS,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "svg.fonttype": "none",  # text stays text that can be searched and edited
    "svg.hashsalt": "yardarm",
    "text.parse_math": False,  # a task may have a $ in its name
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "xtick.major.pad": 2.0,
}
# A file must not depend on the day it is written.
UNDATED: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


@dataclass(frozen=True, slots=True)
class Mark:
    """A row: its label, an estimate with its interval, and the cells to its right."""

    label: str
    """Broken at newlines, and where it is too long."""
    value: float | None
    """None if unknown; then nothing is drawn."""
    interval: Interval
    cells: tuple[str, ...]
    kind: Literal["task", "group", "all"] = "task"
    filled: bool = True
    indented: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis: its ends, ticks and label, and where a reference line is drawn."""

    low: float
    high: float
    ticks: tuple[float, ...]
    label: str
    line_at: float | None = None


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """The content of a figure, from top to bottom."""

    marks: Sequence[Mark]
    scale: Scale
    headings: tuple[str, ...]
    """One per column of cells; columns with empty headings are set close together."""
    notes: tuple[str, ...] = ()
    """Written below the axis."""


def rendered(plot: ForestPlot) -> dict[str, bytes]:
    """The plot as the content of files, by file extension; the same plot always gives the same bytes."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise SetupError(
            "figures need matplotlib, which is not installed; run: pip install 'yardarm[figures]'"
        ) from error
    files = {}
    with style.context(["default", STYLE]):  # independent of the user's own style
        figure = drawn(plot)
        for kind, undated in UNDATED.items():
            content = io.BytesIO()
            figure.savefig(content, format=kind, metadata=undated)
            files[kind] = content.getvalue()
    return files


def drawn(plot: ForestPlot) -> Figure:
    """The plot as a matplotlib figure, in the current style."""
    from matplotlib.figure import Figure

    layout = _Layout.of(plot)
    figure = Figure(figsize=(layout.width, layout.height))
    axes = figure.add_axes(layout.axes)
    _draw_axis(axes, plot.scale, layout)
    for number, (mark, y) in enumerate(zip(plot.marks, layout.centres, strict=True)):
        _draw_mark(axes, mark, y, number)
        _write_row(figure, mark, y, number, layout)
    _write_around(figure, plot, layout)
    return figure


def wrapped(text: str, width: int, most: int = MOST_LINES) -> list[str]:
    """Break a name into lines of similar length; if too long, drop its middle, because names differ at the ends."""
    longest = most * (width - width // 4)
    if len(text) > longest:
        text = f"{text[: longest // 2].rstrip()} … {text[-longest // 2 :].lstrip()}"
    lines = _broken(text, width)
    narrower = (_broken(text, less) for less in range(-(-len(text) // len(lines)), width))
    return next((own for own in narrower if len(own) == len(lines)), lines)


def _broken(text: str, width: int) -> list[str]:
    """Break text between words; words longer than a line are cut."""
    lines = [""]
    for part in re.findall(r"[^\s_/-]*[\s_/-]?", text):
        for piece in [part[start : start + width] for start in range(0, len(part), width)]:
            if len((lines[-1] + piece).rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return [line.strip() for line in lines]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions in inches; rows are measured from the top of the axes."""

    width: float
    left: float
    across: float
    above: float
    rows: float
    below: float
    labels: tuple[tuple[str, ...], ...]
    centres: tuple[float, ...]
    columns: tuple[float, ...]
    """The right ends of the columns of cells."""
    notes: tuple[str, ...]

    @property
    def height(self) -> float:
        return self.above + self.rows + self.below

    @property
    def axes(self) -> tuple[float, float, float, float]:
        """As fractions of the figure, as matplotlib expects."""
        width, height = self.width, self.height
        return self.left / width, self.below / height, self.across / width, self.rows / height

    def from_bottom(self, y: float) -> float:
        return self.below + self.rows - y

    @classmethod
    def of(cls, plot: ForestPlot) -> _Layout:
        parts = [mark.label.split("\n") for mark in plot.marks]
        width, letters = _room(parts)
        labels = tuple(tuple(line for part in own for line in wrapped(part, letters)) for own in parts)
        left = EDGE + BETWEEN + max(_label_width(mark, lines) for mark, lines in zip(plot.marks, labels, strict=True))
        widths = [_column_width(plot, number) for number in range(len(plot.headings))]
        right = sum(widths) + EDGE + BETWEEN / 2
        width = max(width, left + NARROWEST_AXIS + right)  # wide letters may need more room
        columns = [width - EDGE - sum(widths[number:][1:]) for number in range(len(widths))]
        centres, rows = _centres(plot.marks, labels)
        notes = _filled(plot.notes, width - 2 * EDGE)
        return cls(
            width=width,
            left=left,
            across=width - left - right,
            above=EDGE + LINE if any(plot.headings) else EDGE,
            rows=rows,
            below=AXIS + LINE + LINE * len(notes) + (EDGE if notes else 0) + EDGE,
            labels=labels,
            centres=tuple(centres),
            columns=tuple(columns),
            notes=tuple(notes),
        )


def _room(labels: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The figure's width that the names need, and how many letters fit on a line."""
    if all(len(part) * len(parts) <= TWO_LINES for parts in labels for part in parts):
        return COLUMN, LETTERS_IN_COLUMN
    return PAGE, LETTERS_IN_PAGE if len(labels) <= MANY else LETTERS_OF_MANY


def _centres(marks: Sequence[Mark], labels: Sequence[Sequence[str]]) -> tuple[list[float], float]:
    """The centres of the rows, and the end of the last row."""
    centres, y = [], ROW_GAP
    for number, (mark, lines) in enumerate(zip(marks, labels, strict=True)):
        if number and mark.kind != "task":
            y += 2 * ROW_GAP if mark.kind == "all" else ROW_GAP
        height = LINE * len(lines) + ROW_GAP
        centres.append(y + height / 2)
        y += height
    return centres, y + ROW_GAP


def _label_width(mark: Mark, lines: Sequence[str]) -> float:
    return max(_text_width(line, mark.kind != "task") for line in lines) + (INDENT if mark.indented else 0)


def _column_width(plot: ForestPlot, number: int) -> float:
    texts = [_text_width(mark.cells[number], mark.kind != "task") for mark in plot.marks]
    close = not any(plot.headings[max(0, number - 1) : number + 1])
    return max(*texts, _text_width(plot.headings[number])) + (BETWEEN / 3 if close else BETWEEN)


def _filled(notes: Sequence[str], width: float) -> list[str]:
    """Put as many notes on a line as fit; break notes that are longer than a line."""
    lines: list[str] = []
    for note in notes:
        together = f"{lines[-1]}{WIDE_SPACE}{note}" if lines else ""
        if lines and _text_width(together) <= width:
            lines[-1] = together
        else:
            lines += wrapped(note, int(len(note) * min(1.0, width / _text_width(note))))
    return lines


def _text_width(text: str, bold: bool = False) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, weight="bold" if bold else "normal", size=FONT_POINTS)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72 if text else 0.0


def _draw_axis(axes: Axes, scale: Scale, layout: _Layout) -> None:
    axes.set(xlim=(scale.low, scale.high), ylim=(layout.rows, 0), yticks=[], xticks=scale.ticks)
    axes.set_xticks(scale.ticks, [_tick_text(tick) for tick in scale.ticks])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.patch.set_visible(False)
    for tick in scale.ticks:
        axes.axvline(tick, color=FAINT, linewidth=0.5, zorder=0, clip_on=False)
    if scale.line_at is not None:
        axes.axvline(scale.line_at, color=GREY, linewidth=0.8, zorder=1, clip_on=False).set_gid("reference")
    axes.set_xlabel(scale.label, labelpad=2)


def _tick_text(tick: float) -> str:
    return f"{100 * tick:.0f}".replace("-", "−")


def _draw_mark(axes: Axes, mark: Mark, y: float, number: int) -> None:
    if mark.value is None:
        return
    alone = mark.kind == "task"
    ends = (mark.interval.low, mark.interval.high)
    (line,) = axes.plot(ends, (y, y), color=BLACK, linewidth=0.8 if alone else 1.3, clip_on=False, zorder=2)
    line.set_gid(f"interval-{number}")
    line.set_solid_capstyle("butt")
    (point,) = axes.plot(
        [mark.value],
        [y],
        marker="o" if alone else "D",
        markersize=3.4 if alone else 4.2,
        markeredgewidth=0.8,
        color=BLACK,
        markerfacecolor=BLACK if mark.filled else "1",
        clip_on=False,
        zorder=3,
    )
    point.set_gid(f"mark-{number}")


def _write_row(figure: Figure, mark: Mark, y: float, number: int, layout: _Layout) -> None:
    weight = "normal" if mark.kind == "task" else "bold"
    at = layout.from_bottom(y)
    inches: dict[str, Any] = {"transform": figure.dpi_scale_trans, "va": "center_baseline", "weight": weight}
    lines = layout.labels[number]
    for place, line in enumerate(lines):
        offset = LINE * ((len(lines) - 1) / 2 - place)
        figure.text(EDGE + (INDENT if mark.indented else 0), at + offset, line, **inches)
    for right, text in zip(layout.columns, mark.cells, strict=True):
        figure.text(right, at, text, ha="right", **inches)
    if mark.kind == "all" and number:
        above = layout.from_bottom(y - (LINE * len(lines) + ROW_GAP) / 2 - ROW_GAP)
        figure.add_artist(_rule(figure, (EDGE, layout.width - EDGE), above))


def _rule(figure: Figure, ends: tuple[float, float], y: float) -> Any:
    from matplotlib.lines import Line2D

    return Line2D(ends, (y, y), color=GREY, linewidth=0.5, transform=figure.dpi_scale_trans)


def _write_around(figure: Figure, plot: ForestPlot, layout: _Layout) -> None:
    """Write the headings above and the notes below."""
    options: dict[str, Any] = {"va": "center_baseline", "transform": figure.dpi_scale_trans}
    for right, heading in zip(layout.columns, plot.headings, strict=True):
        figure.text(right, layout.height - EDGE - LINE / 2, heading, ha="right", color=GREY, **options)
    for number, note in enumerate(reversed(layout.notes)):
        figure.text(EDGE, EDGE + LINE * (number + 0.5), note, **options)
