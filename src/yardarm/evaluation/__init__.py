"""Evaluation: plan, scheduler, run, replay."""

from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.evaluation.config_file import FlagText, config_from_data, config_to_data, read_config_file
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.run import evaluate

__all__ = [
    "EvalConfig",
    "EvalOptions",
    "FlagText",
    "Listener",
    "Plan",
    "config_from_data",
    "config_to_data",
    "evaluate",
    "read_config_file",
]
