"""Plays episodes until there are enough to record."""

from __future__ import annotations

import math
from dataclasses import replace

from yardarm.evaluation import EvaluationListener, Plan, evaluate
from yardarm.recording.config import RecordConfig
from yardarm.recording.ledger import check_policy
from yardarm.recording.source_episodes import distinct_tasks
from yardarm.results import RunResult

__all__ = ["MOST_TRIES", "play_enough", "too_few"]

# To find N successes, at most this many times N episodes are played.
MOST_TRIES = 10


def play_enough(config: RecordConfig, listener: EvaluationListener) -> RunResult:
    """Play what is to be recorded; for successes, play more until each task has enough, up to `MOST_TRIES` times."""

    def refuse_other_policy(plan: Plan) -> None:
        check_policy(config.dataset.target.root, plan.policy_id)

    played = wanted = config.options.n_episodes
    result = evaluate(config.evaluation, listener, refuse_other_policy)
    while config.options.only_successes and played < MOST_TRIES * wanted and too_few(result, wanted):
        played = _more(result, wanted, played)
        options = replace(config.evaluation.eval, n_episodes=played)
        continued = replace(config.evaluation, eval=options, output_dir=result.path)
        result = evaluate(continued, listener, refuse_other_policy)
    return result


def too_few(result: RunResult, wanted: int) -> dict[str, int]:
    """The tasks with fewer successes than wanted, and how many each has."""
    counts = {task.task.name: task.counts.successes for task in distinct_tasks(result)}
    return {name: successes for name, successes in counts.items() if successes < wanted}


def _more(result: RunResult, wanted: int, played: int) -> int:
    """How many episodes will probably do, by the task with the fewest successes; at most twice as many as now."""
    rate = (min(too_few(result, wanted).values()) + 0.5) / (played + 1)
    return min(max(math.ceil(wanted / rate), played + 1), 2 * played, MOST_TRIES * wanted)
