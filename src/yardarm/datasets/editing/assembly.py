"""Writes a dataset from the episodes of others, one at a time: what all edits come down to."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from yardarm.datasets.arrow import arrow_schema, to_arrow, to_numpy
from yardarm.datasets.editing.carrying import carry_rollouts, carry_video_files
from yardarm.datasets.editing.counting import EpisodeCounter, exact, exact_columns
from yardarm.datasets.editing.recipe import OnProgress, PickedEpisode, Recipe
from yardarm.datasets.editing.videos import PARTS, lay_videos
from yardarm.datasets.editing.writing import DataFiles, RowFiles
from yardarm.datasets.episodes import Episode, VideoPlace
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.info import write_info
from yardarm.datasets.statistics import FeatureStats, write_stats
from yardarm.datasets.tasks import write_tasks
from yardarm.errors import DatasetFault

__all__ = ["assemble"]


def assemble(recipe: Recipe, root: Path, on_progress: OnProgress | None = None, link: bool = False) -> None:
    """Write a dataset into a folder that nobody looks at yet; `link`: the original goes away afterwards."""
    on_progress = on_progress or (lambda what, done, total: None)
    arrow_schema(recipe.info.features)  # what cannot be written is refused before anything is
    info, tasks = recipe.info, _Tasks(recipe)
    places = {key: _write_videos(recipe, key, root, link, on_progress) for key in info.video_keys}
    shutil.rmtree(root / PARTS, ignore_errors=True)
    data, rows, start = DataFiles(root, info), RowFiles(root, info), 0
    with EpisodeCounter(recipe) as counter:
        for number, (take, known) in enumerate(zip(recipe.takes, counter.known(), strict=True)):
            table = _frames(recipe, take, number, start, tasks)
            videos = {key: own[number] for key, own in places.items()}
            stop = start + take.episode.length
            episode = Episode(number, tasks.named(take, table), start, stop, data.add(table), videos)
            rows.add(episode, counter.stats(take, table, known))
            start = stop
            on_progress("frames", number + 1, len(recipe.takes))
        counted = counter.totals()
    data.close()
    rows.flush()
    info = info.grown(len(recipe.takes), start, len(tasks.numbers))
    write_tasks(root, list(tasks.numbers))
    carry_rollouts(recipe.takes, root)
    if recipe.count_every:
        better = {**exact_columns(root, info, rows.episodes, on_progress), **counted}
    else:
        better = _kept(recipe)
    write_stats(root, {name: {**own, **better.get(name, {})} for name, own in rows.stats.items()})
    write_info(root, info)


def _kept(recipe: Recipe) -> dict[str, FeatureStats]:
    """Statistics of a whole dataset that stay true, and of what is new: better than what follows from its episodes'."""
    if recipe.whole is None:
        return {}
    unchanged = {*recipe.info.features} - {*INDEX_FEATURES}
    known = {name: own for name, own in recipe.whole.stats.items() if name in unchanged}
    return {**known, **{name: exact(values) for name, values in recipe.added.items() if values.dtype.kind in "biuf"}}


def _write_videos(recipe: Recipe, key: str, root: Path, link: bool, on_progress: OnProgress) -> list[VideoPlace]:
    done, total = 0, len(recipe.takes)

    def advance(episodes: int = 1) -> None:
        nonlocal done
        done += episodes
        on_progress(key, done, total)

    if recipe.keeps_video_files and recipe.whole is not None:
        for episodes in carry_video_files(recipe.whole, key, root, recipe.info, link):
            advance(episodes)
        return [take.episode.videos[key] for take in recipe.takes]
    segments = [take.reader.segment(take.episode, key) for take in recipe.takes]
    # Distances would not survive being encoded as colours.
    encoding = None if recipe.info.features[key].is_depth else recipe.encoding
    return lay_videos(root, recipe.info, key, segments, encoding, advance)


def _frames(recipe: Recipe, take: PickedEpisode, number: int, start: int, tasks: _Tasks) -> pa.Table:
    """An episode's rows with their new numbers."""
    reader, episode, length = take.reader, take.episode, take.episode.length
    source = reader.frames(episode)
    new = {
        "episode_index": np.full(length, number),
        "index": start + np.arange(length),
        "task_index": tasks.renumbered(take, to_numpy(INDEX_FEATURES["task_index"], source["task_index"])),
        **{name: values[episode.start : episode.stop] for name, values in recipe.added.items()},
    }
    schema = arrow_schema(recipe.info.features)
    features = recipe.info.features
    columns = [
        to_arrow(features[name], new[name]) if name in new else reader.column(episode, source, name)
        for name in schema.names
    ]
    return pa.table(columns, schema=schema)


class _Tasks:
    """The instructions of the new dataset: those of its episodes, in the order of the old ones."""

    def __init__(self, recipe: Recipe) -> None:
        self._renamed = recipe.renamed
        self.numbers: dict[str, int] = {}
        for reader in dict.fromkeys(take.reader for take in recipe.takes):
            used = {task for take in recipe.takes if take.reader is reader for task in take.episode.tasks}
            for task in reader.meta.tasks:
                if task in used:
                    self._number(task)

    def renumbered(self, take: PickedEpisode, old: np.ndarray) -> np.ndarray:
        """The new numbers of an episode's instructions."""
        known = take.reader.meta.tasks
        numbers, places = np.unique(old, return_inverse=True)
        if numbers[0] < 0 or numbers[-1] >= len(known):
            raise DatasetFault(
                f"{take.reader.meta.data_file(take.episode)}: episode {take.episode.index} has the task "
                f"{numbers[0] if numbers[0] < 0 else numbers[-1]}, and there are {len(known)}"
            )
        return np.array([self._number(known[number]) for number in numbers])[places]

    def named(self, take: PickedEpisode, table: pa.Table) -> tuple[str, ...]:
        """An episode's instructions: those that its row names, and those that its frames have."""
        tasks = list(self.numbers)
        listed = (self._renamed.get(task, task) for task in take.episode.tasks)
        own = (tasks[number] for number in dict.fromkeys(table["task_index"].to_pylist()))
        return tuple(dict.fromkeys((*(task for task in listed if task in self.numbers), *own)))

    def _number(self, task: str) -> int:
        return self.numbers.setdefault(self._renamed.get(task, task), len(self.numbers))
