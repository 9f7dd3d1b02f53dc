"""Evaluation: plan, scheduler, run, replay."""

from yardarm.evaluation.config import EvalConfig, EvalOptions
from yardarm.evaluation.config_file import (
    config_from_data,
    config_to_data,
    decode,
    env_from_data,
    read_config_file,
)
from yardarm.evaluation.filming import VIDEO_FPS, VIDEO_HEIGHT, film_of
from yardarm.evaluation.flag_text import FlagText, plain_value
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.merging import MergedRun, merge_runs
from yardarm.evaluation.pictures import first_pictures
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.playback import Audience, Ending, Playback
from yardarm.evaluation.policy_data import against_from_data, policy_from_data
from yardarm.evaluation.preflight import check_policy_fits
from yardarm.evaluation.replay import Replay, ReplayResult, replay_all
from yardarm.evaluation.run import evaluate
from yardarm.evaluation.selection import select_tasks
from yardarm.evaluation.several import SeveralResults, evaluate_several
from yardarm.evaluation.stored_run import StoredRun
from yardarm.evaluation.workers import open_process_pool

__all__ = [
    "VIDEO_FPS",
    "VIDEO_HEIGHT",
    "Audience",
    "Ending",
    "EvalConfig",
    "EvalOptions",
    "FlagText",
    "Listener",
    "MergedRun",
    "Plan",
    "Playback",
    "Replay",
    "ReplayResult",
    "SeveralResults",
    "StoredRun",
    "against_from_data",
    "check_policy_fits",
    "config_from_data",
    "config_to_data",
    "decode",
    "env_from_data",
    "evaluate",
    "evaluate_several",
    "film_of",
    "first_pictures",
    "merge_runs",
    "open_process_pool",
    "plain_value",
    "policy_from_data",
    "read_config_file",
    "replay_all",
    "select_tasks",
]
