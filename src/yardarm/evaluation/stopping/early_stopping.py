"""A run that may stop early, while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yardarm.engine import Job
from yardarm.evaluation.contestant import Contestant
from yardarm.evaluation.stopping.opponent import StoredOpponent
from yardarm.evaluation.stopping.order import planned_order
from yardarm.evaluation.stopping.rules import Referee, make_referee
from yardarm.results import EpisodeRecord, StoppingDeclaration, StoppingRecord

__all__ = ["EarlyStopping"]


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Who plays, what was declared, and the referee who judges the outcomes."""

    declared: StoppingDeclaration
    contestants: Sequence[Contestant]
    referee: Referee

    @classmethod
    def begin(
        cls, declared: StoppingDeclaration, contestants: Sequence[Contestant], opponent: StoredOpponent | None
    ) -> EarlyStopping:
        """Judge what earlier sessions have played; the same decision comes out, if one was made."""
        referee = make_referee(declared, planned_order(contestants[0].plan))
        if opponent is not None:
            for episode in referee.order:
                referee.hear(1, episode, opponent.outcome(episode))
        early_stopping = cls(declared, contestants, referee)
        early_stopping._recall()
        return early_stopping

    def missing(self) -> list[Job]:
        """What is still to play, in the planned order."""
        if self.referee.decision is not None:
            return []
        return [
            Job(episode, player)
            for episode in self.referee.order
            for player in range(len(self.contestants))
            if not self.referee.has_heard(player, episode)
        ]

    def hear(self, player: int, job: Job, record: EpisodeRecord) -> bool:
        """Have an episode judged when its turn comes; returns whether any was."""
        before = self.referee.released
        self.referee.hear(player, job.episode, self.contestants[player].outcome_of(record))
        if self.referee.released == before:
            return False
        self.note()
        return True

    def note(self) -> None:
        """Record the current state in the manifests."""
        for contestant in self.contestants:
            contestant.manifest.note_stopping(self.state())

    def state(self) -> StoppingRecord:
        """What was declared, and the current state."""
        return StoppingRecord(
            declared=self.declared,
            a=self.contestants[0].policy.id,
            b=self.declared.against,
            players=len(self.contestants),
            maximum=len(self.referee.order),
            released=self.referee.released,
            decision=self.referee.decision,
            dropped=self.referee.dropped,
            evidence=self.referee.evidence(),
        )

    def _recall(self) -> None:
        """Take stored episodes into account. An error whose turn had come stays dropped; others are tried again."""
        all_known_so_far = True
        for episode in self.referee.order:
            records = [contestant.record_of(episode) for contestant in self.contestants]
            all_known_so_far &= None not in records
            for player, record in enumerate(records):
                if record is not None and (all_known_so_far or record.status != "error"):
                    self.referee.hear(player, episode, self.contestants[player].outcome_of(record))
