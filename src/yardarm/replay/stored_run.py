"""A run on disk, read without the process that made it."""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import cached_property
from pathlib import Path

from yardarm.config import read_config_file
from yardarm.engine import VIDEO_FPS, EngineOptions, film_of
from yardarm.envs import ProcessPool, select_tasks
from yardarm.errors import UsageError, nearest
from yardarm.machine import usable_cores
from yardarm.replay.last_pictures import LastPicture, draw_pictures, missing_pictures
from yardarm.replay.stop_sign import StopSign
from yardarm.replay.videos import Replay
from yardarm.results import EpisodeRecord, RunFolder, counted, first_to_see, planned_records, read_journal
from yardarm.tasks import EpisodeSpec, TaskSpec, envs_from_data

__all__ = ["StoredRun", "draw_missing"]


class StoredRun:
    """Its records, and the episodes that they are of."""

    def __init__(self, folder: RunFolder, trust_remote_code: bool = False) -> None:
        self.folder = folder
        self._trust_remote_code = trust_remote_code
        self.manifest = folder.read_manifest()
        self.records = {record.key: record for record in read_journal(folder.journal)}

    @cached_property
    def _tasks(self) -> tuple[TaskSpec, ...]:
        envs = envs_from_data(read_config_file(self.folder.config).get("env", {}), self._trust_remote_code)
        return select_tasks(envs if isinstance(envs, list) else [envs], self._trust_remote_code)

    def find(self, task: str | None, index: int, errors_too: bool = False) -> EpisodeRecord:
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
        if records[index].status == "error" and not errors_too:
            raise UsageError(f"episode {index} of '{task}' ended in an error, so there is nothing to replay")
        return records[index]

    def replay(
        self,
        record: EpisodeRecord,
        camera: str = "",
        size: tuple[int, int] | None = None,
        fps: int = VIDEO_FPS,
        path: Path | None = None,
    ) -> Replay:
        """What it takes to film a finished episode; without a camera, with the one that the policy saw."""
        episode = self.episode(record)
        task, env = episode.task, episode.task.env
        if not env.cameras:
            raise UsageError(f"'{task.name}' draws nothing, so there can be no video of it")
        camera = camera or env.cameras[0]
        if camera not in env.cameras:
            raise UsageError(f"unknown camera '{camera}'{nearest(camera, env.cameras)} one of {', '.join(env.cameras)}")
        if not env.replayable:
            raise UsageError(f"'{task.name}' cannot be replayed; film it while it runs with --eval.videos=N")
        if size and env.frame_size and size != env.frame_size:
            height, width = env.frame_size
            raise UsageError(f"--size={size[0]}x{size[1]}: '{task.name}' draws {height}x{width} only")
        self.folder.load_played(record.key)  # missing or damaged actions are reported before anything starts
        film, exact_fps = film_of(task, camera, size, fps)
        return Replay(self.folder, episode, record, path or self.folder.video(record.key, camera), film, exact_fps)

    def missing_pictures(self) -> list[LastPicture]:
        """Pictures of episodes that a reader wants to see first; raises if code from elsewhere would have to run."""
        return missing_pictures(self.folder, self._tasks, self.counted())

    def missing_videos(self) -> list[Replay]:
        """Videos of the failures that a reader wants to see first; raises if code from elsewhere would have to run."""
        failures = [record for record in first_to_see(self.counted()) if not record.success]
        return [replay for replay in map(self.replay, failures) if not replay.path.exists()]

    def counted(self) -> list[EpisodeRecord]:
        """The records that count, in the planned order."""
        return counted(planned_records(self.manifest, self.records.values()), self.manifest.stopping)

    def _names(self) -> dict[str, tuple[str, str]]:
        """Tasks by the names that a user may give: with their benchmark, if two have the same name."""
        tasks = sorted({(key.benchmark, key.task) for key in self.records})
        counts = Counter(task for _, task in tasks)
        return {task if counts[task] == 1 else f"{benchmark}/{task}": (benchmark, task) for benchmark, task in tasks}

    def episode(self, record: EpisodeRecord) -> EpisodeSpec:
        """What was run."""
        for task in self._tasks:
            if task.key() == record.key.task_key:
                return EpisodeSpec(task, record.key.index, record.key.seed)
        raise UsageError(f"{self.folder.config} does not describe the task '{record.key.task}' any more")


def draw_missing(stored: StoredRun, seconds: float) -> int:
    """Draw the pictures that a reader wants to see first, for at most this long; returns how many are missing still."""
    wanted = stored.missing_pictures()
    if not wanted:
        return 0
    pool = ProcessPool(min(usable_cores(), len(wanted)), time_limit_s=EngineOptions().timeout_s)
    with contextlib.closing(pool), StopSign() as sign, sign.after(seconds):
        list(draw_pictures(wanted, pool, sign.descriptor))
    return sum(not picture.path.exists() for picture in wanted)
