"""Results for people to read: tables, Markdown, figures, model cards, sheets of pictures."""

from yardarm.report.axes import draw_curve, draw_forest
from yardarm.report.comparison_table import comparison_sheet, notes, verdicts
from yardarm.report.contact_sheet import contact_sheet
from yardarm.report.figures import comparison_plot, run_plot, write_figures
from yardarm.report.frames import comparison_frame, curve_frame, episodes_frame
from yardarm.report.markdown import markdown
from yardarm.report.model_card import write_model_card
from yardarm.report.results_table import result_notes, results_sheet
from yardarm.report.sheet import Sheet, Table
from yardarm.report.stopping import judged_text
from yardarm.report.table import p_text, percent, print_table
from yardarm.report.training_table import training_sheet
from yardarm.report.unfinished import about_unfinished

__all__ = [
    "Sheet",
    "Table",
    "about_unfinished",
    "comparison_frame",
    "comparison_plot",
    "comparison_sheet",
    "contact_sheet",
    "curve_frame",
    "draw_curve",
    "draw_forest",
    "episodes_frame",
    "judged_text",
    "markdown",
    "notes",
    "p_text",
    "percent",
    "print_table",
    "result_notes",
    "results_sheet",
    "run_plot",
    "training_sheet",
    "verdicts",
    "write_figures",
    "write_model_card",
]
