"""Evaluations: what is played (plan), what stops it early, its parts (sharding), and the sessions that play it.

A configuration is checked without what plays it: the engine, simulators' workers and comparisons are imported when an
evaluation is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.evaluation.config_file import config_from_data, config_to_data
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.plan import Plan
from yardarm.late import late_names

if TYPE_CHECKING:
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

__getattr__ = late_names(
    __name__,
    {
        "MergedRun": "sharding.merging",
        "SeveralResults": "several",
        "check_policy_fits": "preflight",
        "evaluate": "run",
        "evaluate_several": "several",
        "merge_runs": "sharding.merging",
    },
)
