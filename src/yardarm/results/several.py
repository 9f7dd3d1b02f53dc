"""An evaluation of several policies on disk: each has a run of its own in it, and an index lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yardarm.contents import read_json
from yardarm.errors import UsageError
from yardarm.files import write_json
from yardarm.results.files import RunFolder
from yardarm.results.manifest.codec import Record
from yardarm.results.manifest.formats import check_format
from yardarm.results.manifest.run import PlanRecord

__all__ = ["PolicyEntry", "SeveralFolder", "SeveralIndex"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PolicyEntry(Record):
    """A policy of a list: what it is called, what its results are filed under, and where it came from."""

    name: str
    id: str
    source: str


@dataclass(frozen=True, slots=True)
class SeveralIndex(Record):
    """All of `evaluation.json`."""

    plan: PlanRecord
    """What all policies play."""
    policies: tuple[PolicyEntry, ...]
    """In the order in which they were listed."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class SeveralFolder:
    """The files of an evaluation of several policies."""

    path: Path

    @property
    def index(self) -> Path:
        """Which policies there are, and what they all play."""
        return self.path / "evaluation.json"

    @property
    def whole(self) -> RunFolder:
        """Files that a run has too: the configuration, the page that shows it all, what simulators print."""
        return RunFolder(self.path)

    def run(self, name: str) -> RunFolder:
        """The run of a policy."""
        return RunFolder(self.path / "policies" / name)

    def begun(self) -> list[RunFolder]:
        """The runs that have finished episodes, in the order of the list."""
        runs = [self.run(own.name) for own in self.read_policies()]
        return [run for run in runs if run.journal.exists() and run.journal.stat().st_size]

    def write_index(self, plan: PlanRecord, policies: Sequence[PolicyEntry]) -> None:
        """Say what belongs to the evaluation."""
        write_json(self.index, SeveralIndex(plan, tuple(policies)).to_json())

    def read_plan(self) -> PlanRecord:
        """What all policies play."""
        return self._read().plan

    def read_policies(self) -> tuple[PolicyEntry, ...]:
        """The policies, in the order in which they were listed."""
        return self._read().policies

    def _read(self) -> SeveralIndex:
        try:
            content = read_json(self.index)
            check_format(content, self.index, FORMAT)
            return SeveralIndex.from_json(content)
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.index} is damaged: {error}") from error
