"""A look at the dataset before the first step: it takes seconds, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.datasets import DatasetMetadata
from yardarm.errors import YardarmError

__all__ = ["look_at_data"]

MOST_LINES = 4


def look_at_data(meta: DatasetMetadata, episodes: Sequence[int]) -> list[str]:
    """What `yardarm dataset check` would warn of, in a few lines; none if there is nothing, or no frames here yet."""
    from yardarm.datasets.quality import CHECKS, PROBLEM, WARNING, look_over

    if not all(meta.data_file(meta.episodes[number]).is_file() for number in episodes):
        return []
    try:
        report = look_over(meta, episodes)
    except YardarmError:
        return []  # the training says it when it reads that file
    serious = [own for own in report.findings if own.severity in (PROBLEM, WARNING)]
    if not serious:
        return []
    # One of each kind first: forty idle episodes must not hide the one with missing values.
    found = [[own for own in serious if own.check == name] for name in CHECKS]
    shown = [own[0] for own in found if own][:MOST_LINES]
    lines = [f"{own.severity}: {own}{_more(len(found[list(CHECKS).index(own.check)]) - 1)}" for own in shown]
    return [
        f"the dataset: {report.summary()}",
        *(f"  {line}" for line in lines),
        f"  `yardarm dataset check {meta.root}` lists all, and looks at pictures too; --dataset.check=false skips this",
    ]


def _more(others: int) -> str:
    return f" (and {others} more like this)" if others else ""
