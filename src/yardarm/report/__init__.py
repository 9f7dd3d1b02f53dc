"""Results for people to read: tables, Markdown, figures, model cards, sheets of pictures."""

from yardarm.report.comparison_table import notes, print_comparison, verdicts
from yardarm.report.contact_sheet import contact_sheet
from yardarm.report.figures import write_figures
from yardarm.report.markdown import markdown
from yardarm.report.model_card import write_model_card
from yardarm.report.results_table import print_results, result_notes
from yardarm.report.stopping import judged_text
from yardarm.report.table import p_text, percent, print_table
from yardarm.report.unfinished import about_unfinished

__all__ = [
    "about_unfinished",
    "contact_sheet",
    "judged_text",
    "markdown",
    "notes",
    "p_text",
    "percent",
    "print_comparison",
    "print_results",
    "print_table",
    "result_notes",
    "verdicts",
    "write_figures",
    "write_model_card",
]
