"""The evaluations of several policies below a folder, each summed up from its policies' runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from yardarm.errors import UsageError
from yardarm.results import SeveralFolder
from yardarm.workspace.file_cache import Stamp, stamp_of
from yardarm.workspace.folder_catalogue import FolderCatalogue, Line
from yardarm.workspace.run_catalogue import RunCatalogue
from yardarm.workspace.viewed_folder import FoundFolder, is_several

__all__ = ["SeveralCatalogue"]


class SeveralCatalogue(FolderCatalogue[SeveralFolder]):
    """The evaluations of several policies below a folder. Its name is its path relative to the folder."""

    kind = "several"

    def __init__(self, runs: RunCatalogue) -> None:
        super().__init__(runs.viewed)
        self._runs = runs

    def folder(self, name: str) -> SeveralFolder:
        """The folder of the evaluation with this name."""
        path = self.viewed.path(name)
        if not path.is_dir() or not is_several(os.listdir(path)):
            raise UsageError(f"there is no evaluation '{name}'")
        self.viewed.check_links(path)
        return SeveralFolder(path)

    def _chosen(self, found: FoundFolder) -> SeveralFolder | None:
        return SeveralFolder(found.path) if found.is_several else None

    def _stamp(self, folder: SeveralFolder) -> Stamp:
        """It changes whenever one of its policies' runs does."""
        runs = sorted((folder.path / "policies").glob("*/episodes.jsonl"))
        return stamp_of(folder.index), *(stamp_of(path.with_name("manifest.json")) for path in runs)

    def _goes_on(self, folder: SeveralFolder) -> bool:
        return False  # its line is made of others that are known, so it is summed up again

    def _read_line(self, name: str, folder: SeveralFolder) -> Line:
        policies = [own.name for own in folder.read_policies()]
        plan = folder.read_plan()
        runs = []
        for own in policies:
            with contextlib.suppress(UsageError):  # it has not begun yet
                runs.append(self._runs.line(os.path.join(name, "policies", own)))
        return {
            "status": _status(runs, len(policies)),
            "policies": policies,
            "benchmarks": sorted({str(env.get("benchmark", "")) for env in plan.env}),
            "tasks": sorted({task.partition("/")[2] or task for task in plan.tasks}),
            "started": min((run["started"] for run in runs if run.get("started")), default=None),
            "wall_s": max((run["wall_s"] for run in runs if run.get("wall_s") is not None), default=None),
        }


def _status(runs: Sequence[Line], planned: int) -> str:
    statuses = {run["status"] for run in runs}
    if "running" in statuses:
        return "running"
    return "finished" if statuses == {"finished"} and len(runs) == planned else "interrupted"
