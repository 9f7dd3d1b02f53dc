"""Joins the lists of evaluations of several policies whose runs are merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yardarm.config import read_config_file, write_config_file
from yardarm.errors import UsageError
from yardarm.evaluation.plan import describe_difference
from yardarm.evaluation.sharding.parts import lists_in
from yardarm.evaluation.sharding.shard import absent_shards
from yardarm.results import PlanRecord, PolicyEntry, RunFolder, SeveralFolder

__all__ = ["MergedList"]


@dataclass(frozen=True, slots=True)
class MergedList:
    """The policies of several lists as one; it is read before anything is written."""

    folder: SeveralFolder
    plan: PlanRecord
    policies: Sequence[PolicyEntry]
    config: Mapping[str, Any] | None
    """None if policies are objects, which no other process could make."""
    absent_shards: tuple[str, ...]
    """Shards that were not played: policies that only they have are not even known by name."""

    @classmethod
    def read(cls, paths: Sequence[Path], output: Path, names: Mapping[str, str]) -> MergedList | None:
        """Join what the lists say; `names` are those of the merged runs. None if there are no lists."""
        lists = lists_in(dict.fromkeys((output, *paths)))
        if not lists:
            return None
        plan = lists[0].read_plan()
        for other in lists[1:]:
            if (found := other.read_plan()) != plan:
                raise UsageError(f"{other.path} does not belong to {lists[0].path}: {describe_difference(plan, found)}")
        policies = {own.id: own for several in reversed(lists) for own in several.read_policies()}
        order = dict.fromkeys(own.id for several in lists for own in several.read_policies())
        return cls(
            SeveralFolder(output),
            plan,
            [replace(policies[policy], name=names.get(policy, policies[policy].name)) for policy in order],
            _largest(several.whole for several in lists),
            absent_shards(several.path for several in lists),
        )

    def write(self) -> None:
        """List the policies as an evaluation of several does, and draw how they compare."""

        self.folder.write_index(self.plan, self.policies)
        if self.config is not None:
            data = {**self.config, "output_dir": str(self.folder.path), "shard": None}
            write_config_file(self.folder.whole.config, data)
        if self.folder.begun():
            from yardarm.pages import write_several_report

            write_several_report(self.folder)


def _largest(parts: Iterable[RunFolder]) -> dict[str, Any] | None:
    """The configuration of the part with most episodes and most policies."""
    found = [read_config_file(part.config) for part in parts if part.config.exists()]
    return max(found, key=lambda data: (data["eval"]["n_episodes"], len(data["policy"])), default=None)
