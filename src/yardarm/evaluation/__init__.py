"""Evaluations: what is played (plan), what stops it early, its parts (sharding), and the sessions that play it."""

from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.evaluation.config_file import config_from_data, config_to_data
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.preflight import check_policy_fits
from yardarm.evaluation.run import evaluate
from yardarm.evaluation.several import SeveralResults, evaluate_several
from yardarm.evaluation.sharding.merging import MergedRun, merge_runs

__all__ = [
    "EvalConfig",
    "EvalOptions",
    "EvaluationListener",
    "MergedRun",
    "Plan",
    "SeveralResults",
    "check_policy_fits",
    "config_from_data",
    "config_to_data",
    "evaluate",
    "evaluate_several",
    "merge_runs",
]
