"""Runs held against each other: pairing, differences, letters."""

from yardarm.comparison.comparison import Comparison, Entry, compare, episodes_to_find
from yardarm.comparison.lerobot_run import LerobotAssumptions
from yardarm.comparison.outcomes import EpisodeName, Outcome, RunOutcomes
from yardarm.comparison.pairing import same_start
from yardarm.comparison.pairwise import Difference, Pairwise
from yardarm.comparison.reading import read_runs
from yardarm.comparison.yardarm_run import outcome_of

__all__ = [
    "Comparison",
    "Difference",
    "Entry",
    "EpisodeName",
    "LerobotAssumptions",
    "Outcome",
    "Pairwise",
    "RunOutcomes",
    "compare",
    "episodes_to_find",
    "outcome_of",
    "read_runs",
    "same_start",
]
