"""Results and tasks as people like to look at them."""

from yardarm.report.contact_sheet import contact_sheet
from yardarm.report.table import print_results

__all__ = ["contact_sheet", "print_results"]
