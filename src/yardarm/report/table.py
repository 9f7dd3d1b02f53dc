"""Prints tables: drawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Self

from rich import box
from rich.console import Console
from rich.table import Table

from yardarm.stats import Interval

__all__ = [
    "DrawnInterval",
    "Row",
    "aligned",
    "drawn_difference",
    "drawn_rate",
    "interval_text",
    "p_text",
    "percent",
    "points",
    "print_table",
]

Row = tuple[str, ...]


class DrawnInterval(str):
    """The text of an interval, and what is drawn beside it where pictures can be shown: its ends and the estimate."""

    value: float | None
    interval: Interval
    scale: tuple[float, float]

    def __new__(cls, text: str, value: float | None, interval: Interval, scale: tuple[float, float]) -> Self:
        """`value` is the estimate, if there is one; `scale` has the ends of the axis."""
        own = super().__new__(cls, text)
        own.value, own.interval, own.scale = value, interval, scale
        return own


def print_table(
    console: Console, header: Row, rows: Sequence[Row], left: int = 1, strong: Collection[int] = ()
) -> None:
    """Print rows of cells; the first `left` columns are text, the rest numbers; `strong` rows are totals."""
    if console.is_terminal:
        console.print(_drawn(header, rows, left, strong))
        return
    for line in aligned([header, *rows]):
        console.print(line, soft_wrap=True)


def _drawn(header: Row, rows: Sequence[Row], left: int, strong: Collection[int]) -> Table:
    table = Table(*header, header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[left:]:
        column.justify = "right"
    for number, row in enumerate(rows):
        table.add_row(*row, style="bold" if number in strong else "", end_section=number in strong)
    return table


def aligned(rows: Sequence[Row]) -> Iterator[str]:
    """Lines of plain text, in columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def percent(rate: float | None) -> str:
    """A rate in percent; "-" if there is none."""
    return "-" if rate is None else f"{_fixed(100 * rate, 1)}%"


def drawn_rate(rate: float | None, interval: Interval) -> DrawnInterval:
    """The interval of a rate, on a scale from never to always."""
    return DrawnInterval(interval_text(interval), rate, interval, (0.0, 1.0))


def drawn_difference(difference: float, interval: Interval) -> DrawnInterval:
    """The interval of a difference of rates, with no difference in the middle of the scale."""
    text = f"{points(interval.low)} … {points(interval.high)}"
    return DrawnInterval(text, None if math.isnan(difference) else difference, interval, (-1.0, 1.0))


def interval_text(interval: Interval) -> str:
    """The ends of a rate's interval."""
    return f"{percent(interval.low)} – {percent(interval.high)}"


def points(difference: float) -> str:
    """A difference of rates, in percentage points, with its sign; "-" if there is none."""
    if math.isnan(difference):
        return "-"
    text = _fixed(100 * difference, 1)
    return f"−{text[1:]}" if text.startswith("-") else f"+{text}"  # a real minus sign is as wide as the plus


def p_text(p_value: float) -> str:
    """A p-value with a sensible number of digits."""
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.2g}" if p_value < 0.01 else _fixed(p_value, 3)


def _fixed(value: float, digits: int) -> str:
    """As browsers round: 0.0625 is 0.063. Python would round to the even digit, and a page differ from the terminal."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
