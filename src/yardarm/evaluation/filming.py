"""Films episodes while they run, for simulators that cannot be replayed afterwards."""

from __future__ import annotations

from yardarm.engine import film_of, video_size
from yardarm.envs import Worker
from yardarm.envs.messages import Film
from yardarm.evaluation.plan import Plan
from yardarm.results import RunFolder, VideoWriter
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["RunFilming"]


class RunFilming:
    """Decides which episodes of a run are filmed as they run, and keeps their videos."""

    def __init__(self, folder: RunFolder, plan: Plan, videos: int) -> None:
        self._folder = folder
        self._plan = plan
        self._videos = videos
        self._writers: dict[tuple[str | int, ...], VideoWriter] = {}

    def films(self, task: TaskSpec) -> bool:
        """Whether episodes of this task are filmed while they run."""
        return bool(self._videos and task.env.cameras and not task.env.replayable)

    def frame_size(self, task: TaskSpec) -> tuple[int, int]:
        """The room that a worker needs for a frame."""
        return video_size(task) if self.films(task) else (0, 0)

    def begin(self, episode: EpisodeSpec, worker: Worker) -> Film | None:
        """Start a video of the episode, or of its second attempt."""
        worker.on_frame = None
        if not self.films(episode.task) or episode.index >= self._videos:
            return None
        film, fps = film_of(episode.task)
        self.drop(episode)
        writer = VideoWriter(self._folder.video(self._plan.key(episode), film.camera), fps)
        self._writers[episode.key()] = writer
        worker.on_frame = writer.add
        return film

    def finish(self, episode: EpisodeSpec) -> None:
        """Complete the episode's video."""
        if writer := self._writers.pop(episode.key(), None):
            writer.finish()

    def drop(self, episode: EpisodeSpec) -> None:
        """Throw an unfinished video away."""
        if writer := self._writers.pop(episode.key(), None):
            writer.discard()

    def close(self) -> None:
        """Throw all unfinished videos away."""
        for writer in self._writers.values():
            writer.discard()
        self._writers.clear()
