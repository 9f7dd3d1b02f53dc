"""Writes a dataset from the episodes of others, one at a time: every edit ends here."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from yardarm.datasets.arrow import arrow_schema, to_arrow, to_numpy
from yardarm.datasets.editing.copying import copy_measured, copy_review, copy_rollouts, copy_video_files
from yardarm.datasets.editing.counting import EpisodeCounter, exact, exact_columns
from yardarm.datasets.editing.recipe import OnProgress, PickedEpisode, Recipe
from yardarm.datasets.editing.videos import PARTS, write_video_files
from yardarm.datasets.editing.writing import DataFiles, RowFiles
from yardarm.datasets.episodes import Episode, VideoPlace
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.info import write_info
from yardarm.datasets.statistics import FeatureStats, write_stats
from yardarm.datasets.tasks import write_tasks
from yardarm.errors import DatasetFault

__all__ = ["assemble"]


def assemble(recipe: Recipe, root: Path, on_progress: OnProgress | None = None, link: bool = False) -> None:
    """Write a dataset into a hidden folder; `link` shares files with an original that is deleted afterwards."""
    on_progress = on_progress or (lambda what, done, total: None)
    arrow_schema(recipe.info.features)  # raises before anything is written
    info, tasks = recipe.info, _TaskNumbers(recipe)
    places = {key: _write_videos(recipe, key, root, link, on_progress) for key in info.video_keys}
    shutil.rmtree(root / PARTS, ignore_errors=True)
    data, rows, start = DataFiles(root, info), RowFiles(root, info), 0
    with EpisodeCounter(recipe) as counter:
        for number, (pick, known) in enumerate(zip(recipe.picks, counter.known(), strict=True)):
            table = _frames(recipe, pick, number, start, tasks)
            videos = {key: own[number] for key, own in places.items()}
            stop = start + len(pick.frames)
            episode = Episode(number, tasks.named(pick, table), start, stop, data.add(table), videos)
            rows.add(episode, counter.stats(pick, table, known))
            start = stop
            on_progress("frames", number + 1, len(recipe.picks))
        counted = counter.totals()
    data.close()
    rows.flush()
    info = info.grown(len(recipe.picks), start, len(tasks.numbers))
    write_tasks(root, list(tasks.numbers))
    copy_rollouts(recipe.picks, root)
    copy_measured(recipe.picks, root)
    copy_review(recipe.picks, root)
    if recipe.count_every:
        better = {**exact_columns(root, info, rows.episodes, on_progress), **counted}
    else:
        better = _kept(recipe)
    write_stats(root, {name: {**own, **better.get(name, {})} for name, own in rows.stats.items()})
    write_info(root, info)


def _kept(recipe: Recipe) -> dict[str, FeatureStats]:
    """Exact statistics of unchanged and of added columns: better than those combined from the episodes'."""
    if recipe.whole is None:
        return {}
    unchanged = {*recipe.info.features} - {*INDEX_FEATURES}
    known = {name: own for name, own in recipe.whole.stats.items() if name in unchanged}
    return {**known, **{name: exact(values) for name, values in recipe.added.items() if values.dtype.kind in "biuf"}}


def _write_videos(recipe: Recipe, key: str, root: Path, link: bool, on_progress: OnProgress) -> list[VideoPlace]:
    done, total = 0, len(recipe.picks)

    def advance(episodes: int = 1) -> None:
        nonlocal done
        done += episodes
        on_progress(key, done, total)

    if recipe.keeps_video_files and recipe.whole is not None:
        for episodes in copy_video_files(recipe.whole, key, root, recipe.info, link):
            advance(episodes)
        return [pick.episode.videos[key] for pick in recipe.picks]
    segments = [pick.segment(key) for pick in recipe.picks]
    # Encoding distances as colours would destroy them.
    encoding = None if recipe.info.features[key].is_depth else recipe.encoding
    return write_video_files(root, recipe.info, key, segments, encoding, advance)


def _frames(recipe: Recipe, pick: PickedEpisode, number: int, start: int, tasks: _TaskNumbers) -> pa.Table:
    """An episode's rows, renumbered for the new dataset."""
    reader, episode, frames = pick.reader, pick.episode, pick.frames
    source, own = pick.table(), np.arange(len(frames))
    new = {
        "episode_index": np.full(len(frames), number),
        "index": start + own,
        "task_index": tasks.renumbered(pick, to_numpy(INDEX_FEATURES["task_index"], source["task_index"])),
        **{name: values[episode.start :][frames.start : frames.stop] for name, values in recipe.added.items()},
    }
    if pick.is_trimmed:
        new |= {"frame_index": own, "timestamp": (own / recipe.info.fps).astype(np.float32)}
    schema = arrow_schema(recipe.info.features)
    features = recipe.info.features
    columns = [
        to_arrow(features[name], new[name]) if name in new else reader.column(episode, source, name)
        for name in schema.names
    ]
    return pa.table(columns, schema=schema)


class _TaskNumbers:
    """Numbers the new dataset's instructions: those of its episodes, in their old order."""

    def __init__(self, recipe: Recipe) -> None:
        self._renamed = recipe.renamed
        self.numbers: dict[str, int] = {}
        for reader in dict.fromkeys(pick.reader for pick in recipe.picks):
            own = [
                pick
                for pick in recipe.picks
                if pick.reader is reader
                and pick.task is None
                and not pick.is_trimmed  # whose frames say which are left
            ]
            used = {task for pick in own for task in pick.episode.tasks}
            for task in reader.meta.tasks:
                if task in used:
                    self._number(task)
        for pick in recipe.picks:
            if pick.task is not None:
                self.numbers.setdefault(pick.task, len(self.numbers))

    def renumbered(self, pick: PickedEpisode, old: np.ndarray) -> np.ndarray:
        """An episode's instructions by their new numbers."""
        if pick.task is not None:
            return np.full(len(old), self.numbers[pick.task])
        known = pick.reader.meta.tasks
        numbers, places = np.unique(old, return_inverse=True)
        if numbers[0] < 0 or numbers[-1] >= len(known):
            raise DatasetFault(
                f"{pick.reader.meta.data_file(pick.episode)}: episode {pick.episode.index} has the task "
                f"{numbers[0] if numbers[0] < 0 else numbers[-1]}, but there are only {len(known)}"
            )
        return np.array([self._number(known[number]) for number in numbers])[places]

    def named(self, pick: PickedEpisode, table: pa.Table) -> tuple[str, ...]:
        """An episode's instructions: those in its row, and those of its frames."""
        if pick.task is not None:
            return (pick.task,)
        tasks = list(self.numbers)
        listed = () if pick.is_trimmed else (self._renamed.get(task, task) for task in pick.episode.tasks)
        own = (tasks[number] for number in dict.fromkeys(table["task_index"].to_pylist()))
        return tuple(dict.fromkeys((*(task for task in listed if task in self.numbers), *own)))

    def _number(self, task: str) -> int:
        return self.numbers.setdefault(self._renamed.get(task, task), len(self.numbers))
