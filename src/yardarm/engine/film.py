"""What a film of an episode looks like, and who decides that an episode is filmed while it runs."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from yardarm.envs import Worker
from yardarm.envs.messages import Film
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["VIDEO_FPS", "VIDEO_HEIGHT", "Filming", "film_of", "video_size"]

# Smooth enough in real time; a frame costs 0.2 s without a GPU.
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


class Filming(Protocol):
    """Decides which episodes are filmed while they run, and takes their frames."""

    def frame_size(self, task: TaskSpec) -> tuple[int, int]:
        """The room that a worker needs for a frame."""

    def begin(self, episode: EpisodeSpec, worker: Worker) -> Film | None:
        """Have the worker's frames taken, if this episode is filmed."""
