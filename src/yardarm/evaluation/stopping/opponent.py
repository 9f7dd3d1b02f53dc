"""A finished run as the other side of a comparison."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from yardarm.comparison import EpisodeName, EpisodeOutcome, LerobotAssumptions, RunOutcomes, read_runs
from yardarm.errors import UsageError
from yardarm.tasks import EpisodeSpec

__all__ = ["StoredOpponent"]


@dataclass(frozen=True, slots=True)
class StoredOpponent:
    """A run that has played already."""

    run: RunOutcomes

    @classmethod
    def read(cls, path: Path, planned: Sequence[EpisodeSpec]) -> StoredOpponent:
        """Read a run, and check that it has any of the tasks; one of LeRobot's is assumed to have the same seeds."""
        (run,) = read_runs([path], LerobotAssumptions(seed=planned[0].seed - planned[0].index))
        tasks = list(dict.fromkeys(_name(episode).task for episode in planned))
        if not set(tasks) & set(run.tasks):
            raise UsageError(
                f"--against={path} has none of these tasks: it has {', '.join(run.tasks[:3])}, not "
                f"{', '.join(tasks[:3])}"
            )
        return cls(run)

    def check_has_all(self, path: Path, planned: Sequence[EpisodeSpec]) -> None:
        """Check that every planned episode is there: an opponent that lacks some would choose the sample."""
        missing = [episode for episode in planned if not _pairable(self.run, episode)]
        if missing:
            first = missing[0]
            raise UsageError(
                f"--against={path} lacks {len(missing)} of the {len(planned)} planned episodes, e.g. episode "
                f"{first.index} of '{first.task.name}' with seed {first.seed}; give the same tasks and --seed, and no "
                "more --eval.n_episodes than it has"
            )

    def digest(self, planned: Sequence[EpisodeSpec]) -> str:
        """A hash of the outcomes that count: a run that has been continued since is another opponent."""
        outcomes = [[*astuple(_name(episode)), self.outcome(episode).success] for episode in planned]
        return hashlib.sha256(json.dumps(sorted(outcomes, key=str)).encode()).hexdigest()[:12]

    @property
    def id(self) -> str:
        """What its results are filed under."""
        return self.run.policy or str(self.run.path)

    def outcome(self, episode: EpisodeSpec) -> EpisodeOutcome:
        """How an episode went."""
        return self.run.outcomes[_name(episode)]


def _pairable(run: RunOutcomes, episode: EpisodeSpec) -> bool:
    outcome = run.outcomes.get(_name(episode))
    return outcome is not None and outcome.pairable


def _name(episode: EpisodeSpec) -> EpisodeName:
    return EpisodeName.of(episode.task.benchmark, episode.task.name, episode.index, episode.seed)
