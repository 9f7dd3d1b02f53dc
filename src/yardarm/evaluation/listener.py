"""What an evaluation tells those who watch it. The base class keeps silent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yardarm.errors import PolicyFault
from yardarm.results import EpisodeRecord, StoppingRecord

if TYPE_CHECKING:
    from yardarm.evaluation.plan import Plan
    from yardarm.replay import Replay, ReplayResult

__all__ = ["EvaluationListener"]


class EvaluationListener:
    """Override what you want to hear."""

    waits_for_pictures = False
    """Whether somebody watches who may skip pictures for the report; otherwise a short evaluation is not prolonged."""

    def preparing(self, what: str) -> None:
        """Something that takes a moment happens before the first episode."""

    def resumed_after_crash(self, path: Path, finished: int) -> None:
        """The previous session was killed, or crashed: its end was not recorded."""

    def resumed(self, finished: Sequence[EpisodeRecord]) -> None:
        """Earlier sessions have finished these; it is about to start with the others."""

    def started(self, path: Path, plans: Sequence[Plan], missing: int, workers: int) -> None:
        """The first episode is about to start; there is a plan for each policy."""

    def tuned(self, text: str) -> None:
        """Something was fitted to this machine: what, and why."""

    def computing(self, policy: str, seconds: float, limit_s: float) -> None:
        """A policy has not answered for a while; at the limit it is given up."""

    def finished(self, record: EpisodeRecord) -> None:
        """An episode is in the journal."""

    def judged(self, state: StoppingRecord) -> None:
        """A run that may stop early has judged more outcomes."""

    def withdrawn(self, policy: str, fault: PolicyFault) -> None:
        """One of several policies has failed, and the evaluation continues without it."""

    def drawing(self, pictures: int) -> None:
        """All is played, and some pictures for the report are missing; they take a few seconds."""

    def not_drawn(self, reason: str) -> None:
        """There are no more pictures."""

    def filming(self, replays: Sequence[Replay]) -> None:
        """Videos are about to be made."""

    def filmed_frame(self) -> None:
        """A frame was made."""

    def filmed(self, result: ReplayResult) -> None:
        """A video was made."""
