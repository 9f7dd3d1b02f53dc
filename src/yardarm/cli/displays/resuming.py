"""Says after an interruption how to go on."""

from __future__ import annotations

import sys
from pathlib import Path

from yardarm.cli.flags import Flags, shown_command

__all__ = ["say_how_to_continue"]


def say_how_to_continue(command: str, flags: Flags, run: Path | None, kept: str) -> None:
    """Print what is kept, and the command that resumes a run; one that has not begun yet leaves nothing to say."""
    if run is None:
        return
    if not run.exists():
        print("\nyardarm: stopped; no episode was finished, so nothing is kept", file=sys.stderr)
        return
    shown = shown_command(command, {**flags, "output_dir": str(run)})
    print(f"\nyardarm: stopped; {kept}; resume with\n  {shown}", file=sys.stderr)
