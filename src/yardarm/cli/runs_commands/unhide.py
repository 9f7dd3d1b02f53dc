"""``yardarm runs unhide``: list runs again that were hidden."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.runs_commands import common
from yardarm.workspace import LabelChange

__all__ = ["run"]

ABOUT = "List runs again that were hidden."


def run(words: Sequence[str]) -> int:
    """List again the runs."""
    return common.label(words, "unhide", ABOUT, LabelChange(hidden=False))
