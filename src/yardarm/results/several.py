"""An evaluation of several policies on disk: one run per policy, and an index."""

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
    """A policy of the list: its name, the id that its results are stored under, and its source."""

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
        """The list of policies, and the plan that all of them play."""
        return self.path / "evaluation.json"

    @property
    def whole(self) -> RunFolder:
        """Files that a run also has: the configuration, the report, the output of simulators."""
        return RunFolder(self.path)

    def run(self, name: str) -> RunFolder:
        """A policy's run."""
        return RunFolder(self.path / "policies" / name)

    def begun(self) -> list[RunFolder]:
        """The runs that have finished episodes, in the order of the list."""
        runs = [self.run(own.name) for own in self.read_policies()]
        return [run for run in runs if run.journal.exists() and run.journal.stat().st_size]

    def write_index(self, plan: PlanRecord, policies: Sequence[PolicyEntry]) -> None:
        """Write the index."""
        write_json(self.index, SeveralIndex(plan, tuple(policies)).to_json())

    def read_plan(self) -> PlanRecord:
        """The plan that all policies play."""
        return self._read().plan

    def read_policies(self) -> tuple[PolicyEntry, ...]:
        """The policies, in the order of the list."""
        return self._read().policies

    def _read(self) -> SeveralIndex:
        try:
            content = read_json(self.index)
            check_format(content, self.index, FORMAT)
            return SeveralIndex.from_json(content)
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.index} is damaged: {error}") from error
