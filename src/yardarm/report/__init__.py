"""How results are shown."""

from yardarm.report.table import results_table

__all__ = ["results_table"]
