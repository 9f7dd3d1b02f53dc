"""What the comparison of runs shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yardarm.comparison import Comparison, EpisodeName, RunOutcomes, find_pairs
from yardarm.errors import UsageError
from yardarm.pages.run_data import downsampled
from yardarm.report import comparison_lines
from yardarm.results import EpisodeRecord, RunFolder, read_journal

__all__ = ["comparison_data"]

# Of so many episodes that went differently, the rewards are shown: more would make the file large.
MOST_CURVES = 60
UNKNOWN, ERROR, FAILURE, SUCCESS = "-", "e", "f", "s"


def comparison_data(comparison: Comparison, runs: Sequence[RunOutcomes]) -> dict[str, Any]:
    """The comparison, and the episodes that it rests on, where they are the same ones."""
    content = comparison.to_json()
    if len(comparison.pairs) > 1:  # tasks are shown of two runs only, and fifty runs make a thousand pairs
        content["comparisons"] = [{**pair, "per_task": []} for pair in content["comparisons"]]
    names = _shared_episodes(runs)
    records = [_records(run) for run in runs]
    outcomes = [
        "".join(_outcome(run, name, shared) for run, shared in zip(runs, names, strict=True)) for name in names[0]
    ]
    return {
        **content,
        "sentences": list(comparison_lines(comparison)),
        "names": [run.name for run in runs],
        "paths": [str(run.path) for run in runs],
        "episodes": {
            "task": [name.task for name in names[0]],
            "index": [name.index for name in names[0]],
            "seed": [name.seed for name in names[0]],
            "outcomes": outcomes,
            "steps": [[_steps(own.get(name)) for own in records] for name in names[0]],
        },
        "curves": _curves(runs, list(names[0]), outcomes, records),
    }


def _shared_episodes(runs: Sequence[RunOutcomes]) -> list[dict[EpisodeName, None]]:
    """Per run, the episodes that are the same as one of the first run's; the first has those that any shares."""
    first = runs[0]
    others = [{pair.name: None for pair in find_pairs(first, run).pairs} for run in runs[1:]]
    shared = {name: None for name in first.outcomes if any(name in other for other in others)}
    return [shared, *others]


def _outcome(run: RunOutcomes, name: EpisodeName, shared: Mapping[EpisodeName, None]) -> str:
    if name not in shared:
        return UNKNOWN
    success = run.outcomes[name].success
    return ERROR if success is None else SUCCESS if success else FAILURE


def _records(run: RunOutcomes) -> dict[EpisodeName, EpisodeRecord]:
    """What was recorded of each episode; nothing, if the run is not one of Yardarm's."""
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
    """The rewards of the first episodes in which one succeeded and another failed, run by run."""
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
