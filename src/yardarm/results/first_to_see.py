"""Which episodes a reader sees first: the first failures, spread over the tasks, and a success or two."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from yardarm.results.record import EpisodeRecord

__all__ = ["first_to_see"]

# One row of a page.
MOST = 7
MOST_FAILURES = 6
MOST_SUCCESSES = 3


def first_to_see(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Failures, then successes, of records in the planned order; each task has its turn before any has a second one."""
    records = list(records)
    failures = _in_turns(record for record in records if record.status == "failure")[:MOST_FAILURES]
    successes = _in_turns(record for record in records if record.status == "success")
    return [*failures, *successes[: min(MOST_SUCCESSES, MOST - len(failures))]]


def _in_turns(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    tasks: dict[tuple[str, str, str], list[EpisodeRecord]] = {}
    for record in records:
        tasks.setdefault(record.key.task_key, []).append(record)
    return [record for turn in itertools.zip_longest(*tasks.values()) for record in turn if record is not None]
