"""The data of the comparison page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yardarm.comparison import Comparison, EpisodeName, EpisodeOutcome, RunOutcomes, same_start
from yardarm.errors import UsageError
from yardarm.pages.over_steps import over_steps
from yardarm.pages.run_data import downsampled
from yardarm.report import notes, p_text, verdicts
from yardarm.results import EpisodeRecord, RunFolder, read_journal

__all__ = ["comparison_data"]

# Rewards are shown for this many episodes with different outcomes; more would make the file large.
MOST_CURVES = 60
UNKNOWN, ERROR, FAILURE, SUCCESS = "-", "e", "f", "s"


def comparison_data(comparison: Comparison, runs: Sequence[RunOutcomes]) -> dict[str, Any]:
    """The comparison, and the episodes that the runs share."""
    content = comparison.to_json()
    for pair in content["comparisons"]:
        for row in (pair["overall"], *pair["per_task"]):
            row["p_text"] = {name: _p_text(row.get(name)) for name in ("p_value", "p_adjusted")}
    if len(comparison.pairs) > 1:  # tasks are shown for two runs only, and fifty runs make a thousand pairs
        content["comparisons"] = [{**pair, "per_task": []} for pair in content["comparisons"]]
    episodes = _shared_episodes(runs)
    outcomes = ["".join(_letter(own) for own in played) for played in episodes.values()]
    records = [_records(run) for run in runs]
    return {
        **content,
        "verdicts": list(verdicts(comparison)),
        "notes": list(notes(comparison)),
        "names": [run.name for run in runs],
        "policies": [run.policy for run in runs],
        "policy_labels": [_label(run) for run in runs],
        "paths": [str(run.path) for run in runs],
        "by_task": _by_task(runs),
        "over_steps": over_steps(comparison, runs),
        "episodes": {
            "task": [name.task for name in episodes],
            "index": [name.index for name in episodes],
            "seed": [name.seed for name in episodes],
            "outcomes": outcomes,
            "steps": [[_steps(own.get(name)) for own in records] for name in episodes],
        },
        "curves": _curves(runs, list(episodes), outcomes, records),
    }


def _shared_episodes(runs: Sequence[RunOutcomes]) -> dict[EpisodeName, list[EpisodeOutcome | None]]:
    """Episodes of more than one run, with each run's outcome if it starts as in the first run that has the episode."""
    found: dict[EpisodeName, list[EpisodeOutcome | None]] = {}
    for place, run in enumerate(runs):
        for name, own in run.outcomes.items():
            if not own.pairable:
                continue
            played = found.setdefault(name, [None] * len(runs))
            first = next((other for other in played if other is not None), own)
            played[place] = own if same_start(first, own) else None
    return {name: played for name, played in found.items() if sum(own is not None for own in played) > 1}


def _p_text(p_value: float | None) -> str:
    return "–" if p_value is None else p_text(p_value)


def _label(run: RunOutcomes) -> dict[str, str]:
    return run.policy_label.to_json() if run.policy_label else {"name": run.policy, "id": "", "full": run.policy}


def _by_task(runs: Sequence[RunOutcomes]) -> dict[str, Any]:
    """Successes and episodes of each run in each task."""
    tasks = list(dict.fromkeys(task for run in runs for task in run.tasks))
    counts = []
    for run in runs:
        own: dict[str, list[int]] = {task: [0, 0] for task in tasks}
        for name, outcome in run.outcomes.items():
            if outcome.success is not None:
                own[name.task][0] += outcome.success
                own[name.task][1] += 1
        counts.append(list(own.values()))
    several = len({task.partition("/")[0] for task in tasks}) > 1
    return {"tasks": [task if several else task.partition("/")[2] or task for task in tasks], "counts": counts}


def _letter(own: EpisodeOutcome | None) -> str:
    if own is None:
        return UNKNOWN
    return ERROR if own.success is None else SUCCESS if own.success else FAILURE


def _records(run: RunOutcomes) -> dict[EpisodeName, EpisodeRecord]:
    """The recorded episodes; empty if the run is not Yardarm's."""
    folder = RunFolder(run.path)
    if not folder.manifest.exists():
        return {}
    found = {}
    for record in read_journal(folder.journal):
        key = record.key
        found[EpisodeName.of(key.benchmark, key.task, key.index, key.seed)] = record
    return found


def _steps(record: EpisodeRecord | None) -> int | None:
    return record.steps if record else None


def _curves(
    runs: Sequence[RunOutcomes],
    names: Sequence[EpisodeName],
    outcomes: Sequence[str],
    records: Sequence[Mapping[EpisodeName, EpisodeRecord]],
) -> dict[int, list[dict[str, Any] | None]]:
    """The rewards of each run in the first episodes where one run succeeded and another failed."""
    differing = [row for row, letters in enumerate(outcomes) if SUCCESS in letters and FAILURE in letters]
    return {
        row: [_rewards(run, own.get(names[row])) for run, own in zip(runs, records, strict=True)]
        for row in differing[: MOST_CURVES // max(1, len(runs) // 2)]
    }


def _rewards(run: RunOutcomes, record: EpisodeRecord | None) -> dict[str, Any] | None:
    if record is None or record.status == "error":
        return None
    try:
        return downsampled(RunFolder(run.path).load_played(record.key).rewards)
    except UsageError:
        return None
