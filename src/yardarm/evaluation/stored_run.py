"""A run on disk, read without the process that made it."""

from __future__ import annotations

from collections import Counter

from yardarm.errors import UsageError, nearest
from yardarm.evaluation.config_file import config_from_data, read_config_file
from yardarm.evaluation.selection import select_tasks
from yardarm.results import EpisodeRecord, RunFolder, read_journal
from yardarm.tasks import EpisodeSpec

__all__ = ["StoredRun"]


class StoredRun:
    """Its records, and the episodes that they are of."""

    def __init__(self, folder: RunFolder, trust_remote_code: bool = False) -> None:
        self.folder = folder
        self._trust_remote_code = trust_remote_code
        folder.read_manifest()
        self.config = config_from_data(read_config_file(folder.config))
        self.records = {record.key: record for record in read_journal(folder.journal)}

    def find(self, task: str | None, index: int) -> EpisodeRecord:
        """The finished episode of a task with this index."""
        names = self._names()
        if task is None:
            if len(names) != 1:
                raise UsageError(f"--task is missing; this run has {', '.join(names) or 'no finished episode yet'}")
            task = next(iter(names))
        full = {f"{benchmark}/{name}": (benchmark, name) for benchmark, name in names.values()}
        if task not in names and task not in full:
            raise UsageError(
                f"{self.folder.path} has no finished episode of '{task}'{nearest(task, names)} "
                f"it has {', '.join(names)}"
            )
        own = names.get(task) or full[task]
        records = {key.index: record for key, record in self.records.items() if (key.benchmark, key.task) == own}
        if index not in records:
            have = ", ".join(str(number) for number in sorted(records)[:20])
            raise UsageError(f"'{task}' has no finished episode {index}; it has {have}")
        if records[index].status == "error":
            raise UsageError(f"episode {index} of '{task}' ended in an error, so there is nothing to replay")
        return records[index]

    def _names(self) -> dict[str, tuple[str, str]]:
        """Tasks by the names that a user may call them: with their benchmark, where two have the same."""
        tasks = sorted({(key.benchmark, key.task) for key in self.records})
        counts = Counter(task for _, task in tasks)
        return {task if counts[task] == 1 else f"{benchmark}/{task}": (benchmark, task) for benchmark, task in tasks}

    def episode(self, record: EpisodeRecord) -> EpisodeSpec:
        """What was run."""
        for env in self.config.envs:
            if env.python and not self._trust_remote_code:
                raise UsageError(
                    f"this would run {env.python}, which the run names as its workers' Python; "
                    "if you trust it, add --trust_remote_code=true"
                )
        for task in select_tasks(self.config.envs, self._trust_remote_code):
            if task.key() == (record.key.benchmark, record.key.env, record.key.task):
                return EpisodeSpec(task, record.key.index, record.key.seed)
        raise UsageError(f"{self.folder.config} does not describe the task '{record.key.task}' any more")
