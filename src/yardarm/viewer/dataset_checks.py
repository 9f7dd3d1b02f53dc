"""Checks of datasets for their pages: begun when a page asks, and again when files have changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from yardarm.datasets import DatasetMetadata
from yardarm.datasets.quality import CheckReport, check_dataset
from yardarm.viewer.background_job import BackgroundJob
from yardarm.workspace import Stamp, stamp_of

__all__ = ["DatasetChecks"]

# This many datasets' findings are kept in memory.
KEPT = 16


class DatasetChecks:
    """The newest check of each dataset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, tuple[Stamp, BackgroundJob]] = OrderedDict()

    def of(self, name: str, meta: DatasetMetadata) -> dict[str, Any]:
        """How far the check is, and what it has found so far."""
        stamp = _stamp(meta)
        with self._lock:
            known = self._jobs.get(name)
            if known is None or known[0] != stamp:
                known = (stamp, BackgroundJob(lambda job: _check(meta, job)))
                self._jobs[name] = known
                while len(self._jobs) > KEPT:
                    self._jobs.popitem(last=False)
        job = known[1]
        report: CheckReport | None = job.result or job.partial
        return {**job.status(), "report": None if report is None else report.to_json()}


def _check(meta: DatasetMetadata, job: BackgroundJob) -> CheckReport:
    def on_numbers(report: CheckReport) -> None:
        job.partial = report

    return check_dataset(meta, on_progress=job.on_progress, on_numbers=on_numbers)


def _stamp(meta: DatasetMetadata) -> Stamp:
    files = dict.fromkeys(meta.data_file(episode) for episode in meta.episodes)
    videos = dict.fromkeys(meta.video_file(episode, key) for episode in meta.episodes for key in episode.videos)
    return tuple(stamp_of(path) for path in (meta.root / "meta" / "info.json", *files, *videos))
