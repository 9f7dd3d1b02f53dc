"""What is shown of a result: tables, and sentences between them. Drawn on a terminal, plain text, or HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.console import Console

from yardarm.report.sheet_html import html_line, html_sheet, html_table
from yardarm.report.table import Row, aligned, print_table

__all__ = ["Sheet", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first `left` columns are text, the rest numbers; `strong` rows are totals."""

    header: Row
    rows: Sequence[Row]
    left: int = 1
    strong: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """Tables and lines from top to bottom; an empty line leaves a gap."""

    blocks: tuple[Table | str, ...]

    def print(self, console: Console) -> None:
        """Draw it on a terminal; print plain lines elsewhere."""
        for block in self.blocks:
            if isinstance(block, Table):
                print_table(console, block.header, block.rows, block.left, block.strong)
            else:
                console.print(block, soft_wrap=True)

    def text(self) -> str:
        """Plain lines."""
        lines = (aligned([block.header, *block.rows]) if isinstance(block, Table) else [block] for block in self.blocks)
        return "\n".join(line for own in lines for line in own)

    def html(self) -> str:
        """For a notebook, in its own light or dark colours."""
        return html_sheet(
            html_table(block.header, block.rows, block.left, block.strong)
            if isinstance(block, Table)
            else html_line(block)
            for block in self.blocks
        )

    def followed_by(self, *lines: str) -> Sheet:
        """The same with lines below."""
        return Sheet((*self.blocks, *lines))
