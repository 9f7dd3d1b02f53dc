"""How results are shown."""

from yardarm.report.table import print_results

__all__ = ["print_results"]
