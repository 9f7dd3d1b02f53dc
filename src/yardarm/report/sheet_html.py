"""Tables as HTML for notebooks: no scripts, no classes, and only colours of the page that they are shown on."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence

from yardarm.report.table import DrawnInterval, Row

__all__ = ["html_line", "html_sheet", "html_table"]

# All in pixels.
WIDTH, HEIGHT, EDGE, RADIUS = 96, 14, 4, 3
CELL = "padding: 0.25em 0.75em; white-space: nowrap; font-variant-numeric: tabular-nums; text-align:"
RULE = "1px solid rgba(128, 128, 128, 0.5)"
LINE = "margin: 0.4em 0; max-width: 60em"


def html_sheet(parts: Iterable[str]) -> str:
    """Parts below each other; a wide table scrolls on its own."""
    return f"<div>{''.join(parts)}</div>"


def html_line(text: str) -> str:
    """A sentence, with `code` as such; nothing for an empty line."""
    text = text.strip()
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return f'<p style="{LINE}">{marked}</p>' if text else ""


def html_table(header: Row, rows: Sequence[Row], left: int, strong: Collection[int]) -> str:
    """The first `left` columns are text, the rest numbers; `strong` rows are totals."""
    body = "".join(_row(row, left, "td", bold=number in strong) for number, row in enumerate(rows))
    return (
        '<div style="overflow-x: auto"><table style="border-collapse: collapse; margin: 0.5em 0">'
        f'<thead style="border-bottom: {RULE}">{_row(header, left, "th")}</thead><tbody>{body}</tbody></table></div>'
    )


def _row(cells: Row, left: int, tag: str, bold: bool = False) -> str:
    weight = "; font-weight: bold" if bold else ""
    sides = ["left" if number < left else "right" for number in range(len(cells))]
    drawn = (
        f'<{tag} style="{CELL} {side}{weight}">{_cell(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
    )
    rule = f' style="border-top: {RULE}"' if bold else ""
    return f"<tr{rule}>{''.join(drawn)}</tr>"


def _cell(cell: str) -> str:
    text = html.escape(cell)
    return f"{text}&ensp;{_drawing(cell)}" if isinstance(cell, DrawnInterval) else text


def _drawing(cell: DrawnInterval) -> str:
    """An interval as a line and its estimate as a dot, on a faint axis; a tick marks zero inside of the axis."""
    middle, (start, end) = HEIGHT / 2, cell.scale

    def place(value: float) -> str:
        share = (min(max(value, start), end) - start) / (end - start)
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}"

    low, high = place(cell.interval.low), place(cell.interval.high)
    parts = [f'<path d="M{place(start)} {middle}H{place(end)}" stroke-width="1" opacity="0.3"/>']
    if start < 0 < end:
        parts.append(f'<path d="M{place(0)} 1V{HEIGHT - 1}" stroke-width="1" opacity="0.5"/>')
    if cell.value is not None:
        parts.append(f'<path d="M{low} {middle}H{high}" stroke-width="2"/>')
        parts.append(f'<circle cx="{place(cell.value)}" cy="{middle}" r="{RADIUS}" fill="currentColor" stroke="none"/>')
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" stroke="currentColor" fill="none" role="img" '
        f'style="vertical-align: middle" aria-label="{html.escape(cell)}">{"".join(parts)}</svg>'
    )
