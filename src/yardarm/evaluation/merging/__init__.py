"""Joins runs that are parts of one evaluation: what belongs together, each episode once."""

from yardarm.evaluation.merging.runs import MergedRun, merge_runs

__all__ = ["MergedRun", "merge_runs"]
