"""Pages for the browser: their data, the code that draws them (``web/``), and self-contained reports."""

from yardarm.pages.comparison_data import comparison_data
from yardarm.pages.html import WEB, served_page
from yardarm.pages.report import opponent_data, write_comparison_page, write_report, write_several_report
from yardarm.pages.run_data import run_data
from yardarm.pages.training_data import StoredTraining, training_data, training_line

__all__ = [
    "WEB",
    "StoredTraining",
    "comparison_data",
    "opponent_data",
    "run_data",
    "served_page",
    "training_data",
    "training_line",
    "write_comparison_page",
    "write_report",
    "write_several_report",
]
