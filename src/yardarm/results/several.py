"""An evaluation of several policies on disk: each has a run of its own in it, and an index lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yardarm.contents import read_json
from yardarm.errors import UsageError
from yardarm.files import write_json
from yardarm.results.files import RunFolder, check_format
from yardarm.results.shapes import SEVERAL

__all__ = ["PolicyEntry", "SeveralFolder"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """A policy of a list: what it is called, what its results are filed under, and where it came from."""

    name: str
    id: str
    source: str


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

    def write_index(self, plan: Mapping[str, Any], policies: Sequence[PolicyEntry]) -> None:
        """Say what belongs to the evaluation."""
        write_json(self.index, {"format": FORMAT, "plan": dict(plan), "policies": [asdict(own) for own in policies]})

    def read_plan(self) -> dict[str, Any]:
        """What all policies play."""
        return dict(self._read()["plan"])

    def read_policies(self) -> list[PolicyEntry]:
        """The policies, in the order in which they were listed."""
        return [PolicyEntry(own["name"], own["id"], own["source"]) for own in self._read()["policies"]]

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = read_json(self.index)
            check_format(content, self.index, FORMAT)
            SEVERAL(content, "")
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.index} is damaged: {error}") from error
        return content
