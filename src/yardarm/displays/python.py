"""Whether somebody watches a program that calls Yardarm, and where they look."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["in_notebook", "is_watched", "open_console"]


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, not a script or a terminal."""
    ipython = sys.modules.get("IPython")  # a kernel cannot be without it
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def is_watched() -> bool:
    """Whether this is a notebook, or the program's messages go to a terminal."""
    return in_notebook() or sys.stderr.isatty()


def open_console() -> Console:
    """Where progress is shown: below a notebook's cell, or beside what a program prints itself."""
    from rich.console import Console

    # Rich would show every line of a notebook as a block of its own.
    return Console(
        stderr=not in_notebook(), force_jupyter=False, highlight=False, markup=False, emoji=False, soft_wrap=True
    )
