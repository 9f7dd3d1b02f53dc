"""Evaluation: plan, scheduler, run, replay."""

from yardarm.evaluate.config import EvalConfig, EvalOptions
from yardarm.evaluate.config_file import config_from_data, config_to_data, read_config_file
from yardarm.evaluate.listener import Listener
from yardarm.evaluate.plan import Plan
from yardarm.evaluate.run import evaluate

__all__ = [
    "EvalConfig",
    "EvalOptions",
    "Listener",
    "Plan",
    "config_from_data",
    "config_to_data",
    "evaluate",
    "read_config_file",
]
