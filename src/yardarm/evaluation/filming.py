"""Films episodes while they run, for simulators that cannot be replayed afterwards."""

from __future__ import annotations

from fractions import Fraction

from yardarm.envs import Worker
from yardarm.envs.messages import Film
from yardarm.evaluation.plan import Plan
from yardarm.results import RunFolder, VideoWriter
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["Filming", "film_of"]

# Real time at a rate that the eye accepts; a frame costs 0.2 s without a GPU.
VIDEO_FPS = 20
VIDEO_HEIGHT = 480


def video_size(task: TaskSpec) -> tuple[int, int]:
    """The size that a task is drawn in, or a usual one with the proportions of what policies see."""
    if task.env.frame_size:
        return task.env.frame_size
    height, width = next((feature.shape[:2] for feature in task.env.features.values() if feature.is_image), (1, 1))
    return VIDEO_HEIGHT, 2 * round(VIDEO_HEIGHT * width / height / 2)


def film_of(
    task: TaskSpec, camera: str = "", size: tuple[int, int] | None = None, fps: int = VIDEO_FPS
) -> tuple[Film, Fraction]:
    """What to film, and the video's exact rate: frames are whole steps apart and play in real time."""
    every = max(1, round(task.fps / fps))
    height, width = size or video_size(task)
    return Film(camera or task.env.cameras[0], height, width, every), Fraction(task.fps, every)


class Filming:
    """Decides which episodes are filmed as they run, and keeps their videos."""

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
