"""A finished run as the other side of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yardarm.comparison import EpisodeName, Outcome, RunOutcomes, read_runs
from yardarm.errors import UsageError
from yardarm.tasks import EpisodeSpec

__all__ = ["StoredOpponent"]


@dataclass(frozen=True, slots=True)
class StoredOpponent:
    """A run that has played all that is planned."""

    run: RunOutcomes

    @classmethod
    def read(cls, path: Path, planned: Sequence[EpisodeSpec]) -> StoredOpponent:
        """Read a run, and see that it has every planned episode: a partner that lacks some would choose the sample."""
        (run,) = read_runs([path])
        missing = [episode for episode in planned if not _pairable(run, episode)]
        if missing:
            first = missing[0]
            raise UsageError(
                f"--against={path} lacks {len(missing)} of the {len(planned)} planned episodes, e.g. episode "
                f"{first.index} of '{first.task.name}' with seed {first.seed}; give the same tasks and --seed, and no "
                "more --eval.n_episodes than it has"
            )
        return cls(run)

    @property
    def id(self) -> str:
        """What its results are filed under."""
        return self.run.policy or str(self.run.path)

    def outcome(self, episode: EpisodeSpec) -> Outcome:
        """How an episode went."""
        return self.run.outcomes[_name(episode)]


def _pairable(run: RunOutcomes, episode: EpisodeSpec) -> bool:
    outcome = run.outcomes.get(_name(episode))
    return outcome is not None and outcome.pairable


def _name(episode: EpisodeSpec) -> EpisodeName:
    return EpisodeName(f"{episode.task.benchmark}/{episode.task.name}", episode.index, episode.seed)
