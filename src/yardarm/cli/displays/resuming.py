"""Says after an interruption how to go on."""

from __future__ import annotations

import sys
from pathlib import Path

from yardarm.cli.flags import Flags, shown_command

__all__ = ["say_how_to_continue"]


def say_how_to_continue(command: str, flags: Flags, run: Path, kept: str) -> None:
    """Print what is kept, and the command that resumes a run."""
    shown = shown_command(command, {**flags, "output_dir": str(run)})
    print(f"\nyardarm: stopped; {kept}; resume with\n  {shown}", file=sys.stderr)
