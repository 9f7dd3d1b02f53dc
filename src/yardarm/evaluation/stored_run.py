"""A run on disk, read without the process that made it."""

from __future__ import annotations

from yardarm.errors import UsageError, nearest
from yardarm.evaluation.config_file import config_from_data, read_config_file
from yardarm.results import EpisodeRecord, RunFolder, read_journal
from yardarm.tasks import EpisodeSpec

__all__ = ["StoredRun"]


class StoredRun:
    """Its records, and the episodes that they are of."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        folder.read_manifest()
        self.config = config_from_data(read_config_file(folder.config))
        self.records = {record.key: record for record in read_journal(folder.journal)}

    def find(self, task: str | None, index: int) -> EpisodeRecord:
        """The finished episode of a task with this index."""
        names = sorted({key.task for key in self.records})
        if task is None:
            if len(names) != 1:
                raise UsageError(f"--task is missing; this run has {', '.join(names) or 'no finished episode yet'}")
            task = names[0]
        if task not in names:
            raise UsageError(
                f"{self.folder.path} has no finished episode of '{task}'{nearest(task, names)} "
                f"it has {', '.join(names)}"
            )
        records = {record.key.index: record for record in self.records.values() if record.key.task == task}
        if index not in records:
            have = ", ".join(str(number) for number in sorted(records)[:20])
            raise UsageError(f"'{task}' has no finished episode {index}; it has {have}")
        if records[index].status == "error":
            raise UsageError(f"episode {index} of '{task}' ended in an error, so there is nothing to replay")
        return records[index]

    def episode(self, record: EpisodeRecord) -> EpisodeSpec:
        """What was run."""
        for task in self.config.env.tasks():
            if task.key() == (record.key.benchmark, record.key.env, record.key.task):
                return EpisodeSpec(task, record.key.index, record.key.seed)
        raise UsageError(f"{self.folder.config} does not describe the task '{record.key.task}' any more")
