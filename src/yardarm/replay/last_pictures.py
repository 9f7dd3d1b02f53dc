"""How episodes looked at their end: they are played again from their seeds and actions, and looked at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from yardarm.engine import film_of
from yardarm.envs import MemoryLayout, ProcessPool
from yardarm.envs.messages import Film
from yardarm.files import write_atomically
from yardarm.policies import Look, PlayableChunk
from yardarm.replay.playback import Playback
from yardarm.results import EpisodeRecord, PlayedEpisode, RunFolder, first_to_see
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["BACKGROUND", "LastPicture", "draw_pictures", "missing_pictures"]

# The priority of workers that draw while nobody waits for them: whatever else wants the cores comes first.
BACKGROUND = 19
FEW = 3
# Sharp at twice the size at which a page shows it, and about 15 kB.
LONGEST_SIDE = 320
QUALITY = 82


@dataclass(frozen=True, slots=True)
class LastPicture:
    """A finished episode, and the run that keeps the picture of its end."""

    folder: RunFolder
    episode: EpisodeSpec
    record: EpisodeRecord

    @property
    def path(self) -> Path:
        """The picture's file."""
        return self.folder.picture(self.record.key)


def missing_pictures(
    folder: RunFolder, tasks: Iterable[TaskSpec], records: Iterable[EpisodeRecord]
) -> list[LastPicture]:
    """Pictures that a reader wants to see first and that are not there yet, of records in the planned order.

    Time may be short, so a success comes after a few failures, not after all of them.
    """
    drawable = {task.key(): task for task in tasks if task.env.replayable and task.env.cameras}
    chosen = first_to_see(record for record in records if record.key.task_key in drawable)
    failures, successes = ([record for record in chosen if record.success == wanted] for wanted in (False, True))
    in_order = [*failures[:FEW], *successes[:1], *failures[FEW:], *successes[1:]]
    pictures = [
        LastPicture(folder, EpisodeSpec(drawable[record.key.task_key], record.key.index, record.key.seed), record)
        for record in in_order
    ]
    return [picture for picture in pictures if not picture.path.exists()]


def draw_pictures(wanted: Sequence[LastPicture], pool: ProcessPool, until: int | None = None) -> Iterator[LastPicture]:
    """Draw pictures on all places of the pool; yields each that was tried, also if there is no picture of it.

    A replay that leaves the recorded course would show what never happened, so there is no picture of it. `until` is a
    descriptor: as soon as it can be read, what is not finished is given up.
    """
    pool.choose_renderer([picture.episode.task for picture in wanted])
    with contextlib.closing(iter(Playback(wanted, _Photographer, pool, until))) as results:
        for result in results:
            if result.watcher is not None and result.diverged_at is None:
                result.watcher.save()
            yield result.recorded


class _Photographer:
    """Watches an episode, and looks after its last step only."""

    def __init__(self, picture: LastPicture) -> None:
        film, _ = film_of(picture.episode.task)
        self._picture = picture
        self._frame: np.ndarray | None = None
        self.film: Film | None = replace(film, every=1, first=picture.record.steps)
        self.layout = MemoryLayout({}, frame=(film.height, film.width))

    def chunks(self, played: PlayedEpisode) -> Iterator[PlayableChunk]:
        """All actions at once."""
        yield PlayableChunk(played.actions, {})

    def see(self, looks: Sequence[Look]) -> None:
        """Nothing was asked for."""

    def take_frame(self, frame: np.ndarray) -> None:
        """Keep the frame."""
        self._frame = frame.copy()

    def discard(self) -> None:
        """Nothing has been written yet."""

    def save(self) -> None:
        """Write the picture, unless the folder cannot be written."""
        if self._frame is None:
            return
        from PIL import Image

        image = Image.fromarray(self._frame)
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)

        def write(file: IO[bytes]) -> None:
            image.save(file, "JPEG", quality=QUALITY, optimize=True)

        with contextlib.suppress(OSError):
            write_atomically(self._picture.path, write)
