"""``yardarm runs hide``: omit runs from lists."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.runs_commands import common
from yardarm.workspace import LabelChange

__all__ = ["run"]

ABOUT = "Omit runs from lists; `yardarm runs --hidden` shows them, and `yardarm runs unhide` lists them again."


def run(words: Sequence[str]) -> int:
    """Hide the runs."""
    return common.label(words, "hide", ABOUT, LabelChange(hidden=True))
