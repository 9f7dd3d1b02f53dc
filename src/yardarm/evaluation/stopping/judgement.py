"""A run that may stop early, while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.engine import Job
from yardarm.evaluation.entrant import Entrant
from yardarm.evaluation.stopping.opponent import StoredOpponent
from yardarm.evaluation.stopping.order import planned_order
from yardarm.evaluation.stopping.rules import Declaration, Referee, make_referee
from yardarm.results import EpisodeRecord

__all__ = ["Judgement"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Who plays, what was declared, and the referee who hears of all outcomes."""

    declared: Declaration
    entrants: Sequence[Entrant]
    referee: Referee

    @classmethod
    def begin(cls, declared: Declaration, entrants: Sequence[Entrant], opponent: StoredOpponent | None) -> Judgement:
        """Judge what earlier sessions have played; the same decision comes out, if one was made."""
        referee = make_referee(declared, planned_order(entrants[0].plan))
        if opponent is not None:
            for episode in referee.order:
                referee.hear(1, episode, opponent.outcome(episode))
        judgement = cls(declared, entrants, referee)
        judgement._recall()
        return judgement

    def missing(self) -> list[Job]:
        """What is still to play, in the planned order."""
        if self.referee.decision is not None:
            return []
        return [
            Job(episode, side)
            for episode in self.referee.order
            for side in range(len(self.entrants))
            if not self.referee.has_heard(side, episode)
        ]

    def hear(self, side: int, job: Job, record: EpisodeRecord) -> bool:
        """Have an episode judged when its turn comes; tells whether any was."""
        before = self.referee.released
        self.referee.hear(side, job.episode, self.entrants[side].outcome_of(record))
        if self.referee.released == before:
            return False
        self.note()
        return True

    def note(self) -> None:
        """Tell the manifests what it has come to."""
        for entrant in self.entrants:
            entrant.manifest.note_stopping(self.state())

    def state(self) -> dict[str, Any]:
        """What was declared, and what it has come to."""
        names = {"a": self.entrants[0].policy.id, **({"b": self.declared.against} if self.declared.against else {})}
        return {**self.declared.to_json(), **names, "players": len(self.entrants), **self.referee.state()}

    def _recall(self) -> None:
        """Hear of stored episodes. An error whose turn had come stays dropped; others are tried again."""
        all_known_so_far = True
        for episode in self.referee.order:
            records = [entrant.record_of(episode) for entrant in self.entrants]
            all_known_so_far &= None not in records
            for side, record in enumerate(records):
                if record is not None and (all_known_so_far or record.status != "error"):
                    self.referee.hear(side, episode, self.entrants[side].outcome_of(record))
