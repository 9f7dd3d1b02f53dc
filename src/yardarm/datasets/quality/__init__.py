"""Looks for what commonly goes wrong with recordings: idle, jumping, duplicate, frozen, outlying episodes.

report = check_dataset(read_metadata(folder))
print(report.summary())
"""

from yardarm.datasets.quality.checking import check_dataset, look_over
from yardarm.datasets.quality.findings import CHECKS, NOTE, PROBLEM, WARNING, CheckReport, Finding

__all__ = ["CHECKS", "NOTE", "PROBLEM", "WARNING", "CheckReport", "Finding", "check_dataset", "look_over"]
