"""Runs all checks of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yardarm.datasets.browsing import damaged_files
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.quality.cameras import find_in_pictures, watched_cameras
from yardarm.datasets.quality.findings import PROBLEM, CheckReport, Finding
from yardarm.datasets.quality.measured_times import find_in_measured
from yardarm.datasets.quality.motion import find_gaps, find_idle, find_jumps
from yardarm.datasets.quality.signals import Signals, choose_episodes, read_signals
from yardarm.datasets.quality.values import find_constant, find_not_numbers, find_outliers
from yardarm.datasets.quality.whole_episodes import (
    find_duplicates,
    find_unlike,
    find_unusual_lengths,
    find_without_instruction,
)
from yardarm.errors import DatasetFault

__all__ = ["OnProgress", "check_dataset", "look_over"]

OnProgress = Callable[[str, int, int], Any]
"""Called with what is being checked, how much is done, and the total."""

NUMBER_CHECKS: tuple[Callable[[Signals], Iterator[Finding]], ...] = (
    find_not_numbers,
    find_duplicates,
    find_idle,
    find_jumps,
    find_gaps,
    find_in_measured,
    find_outliers,
    find_unusual_lengths,
    find_unlike,
    find_without_instruction,
    find_constant,
)
# Before a training: about two seconds.
QUICK_FRAMES = 100_000


def check_dataset(
    meta: DatasetMetadata,
    cameras: bool = True,
    on_progress: OnProgress | None = None,
    on_numbers: Callable[[CheckReport], Any] | None = None,
) -> CheckReport:
    """Check all numbers, and some pictures of each episode; `on_numbers` gets the report before the pictures."""
    on_progress = on_progress or (lambda what, done, total: None)
    findings = [Finding("files", PROBLEM, fault) for fault in damaged_files(meta)]
    episodes = choose_episodes(meta, range(len(meta.episodes)), None)
    try:
        signals = read_signals(meta, episodes)
    except DatasetFault as error:
        if not any(str(error) == finding.message for finding in findings):
            findings.append(Finding("files", PROBLEM, str(error)))
        return CheckReport(findings, 0, meta.total_episodes)
    findings += _check_numbers(signals, on_progress)
    looked = watched_cameras(meta) if cameras else []
    if looked and episodes:
        if on_numbers is not None:
            on_numbers(CheckReport(tuple(findings), len(episodes), meta.total_episodes))
        findings += find_in_pictures(signals, lambda done, total: on_progress("pictures", done, total))
    return CheckReport(findings, len(episodes), meta.total_episodes, looked)


def look_over(meta: DatasetMetadata, chosen: Sequence[int]) -> CheckReport:
    """Check the numbers of these episodes, or of some of them if they are many: within seconds, without pictures."""
    episodes = choose_episodes(meta, chosen, QUICK_FRAMES)
    findings = _check_numbers(read_signals(meta, episodes), lambda what, done, total: None)
    return CheckReport(findings, len(episodes), len(chosen))


def _check_numbers(signals: Signals, on_progress: OnProgress) -> list[Finding]:
    findings: list[Finding] = []
    if not signals.episodes:
        return findings
    for done, check in enumerate(NUMBER_CHECKS, 1):
        findings += check(signals)
        on_progress("numbers", done, len(NUMBER_CHECKS))
    # An idle or broken episode is unlike the others too; that says nothing new.
    explained = {finding.episode for finding in findings if finding.check != "unlike"} - {None}
    return [finding for finding in findings if finding.check != "unlike" or finding.episode not in explained]
