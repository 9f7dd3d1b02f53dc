"""Results and tasks as people like to look at them."""

from yardarm.report.comparison_table import print_comparison
from yardarm.report.contact_sheet import contact_sheet
from yardarm.report.results_table import print_results
from yardarm.report.stopping import judged_text
from yardarm.report.table import percent, print_table

__all__ = ["contact_sheet", "judged_text", "percent", "print_comparison", "print_results", "print_table"]
