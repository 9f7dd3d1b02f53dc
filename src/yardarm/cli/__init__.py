"""The command line: one small file per command."""

from yardarm.cli.main import main

__all__ = ["main"]
