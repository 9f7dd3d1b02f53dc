"""Compares runs: pairing, differences, letters."""

from yardarm.comparison.comparison import Comparison, ComparisonEntry, compare, pairs_needed
from yardarm.comparison.lerobot_run import LerobotAssumptions
from yardarm.comparison.outcomes import EpisodeName, EpisodeOutcome, RunOutcomes
from yardarm.comparison.pairing import same_start
from yardarm.comparison.pairwise import Difference, Pairwise
from yardarm.comparison.reading import read_runs, run_folder, runs_in
from yardarm.comparison.yardarm_run import outcome_of

__all__ = [
    "Comparison",
    "ComparisonEntry",
    "Difference",
    "EpisodeName",
    "EpisodeOutcome",
    "LerobotAssumptions",
    "Pairwise",
    "RunOutcomes",
    "compare",
    "outcome_of",
    "pairs_needed",
    "read_runs",
    "run_folder",
    "runs_in",
    "same_start",
]
