"""Edits of single episodes: deleting, trimming, and new instructions, each alone or all in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from yardarm.datasets.editing.edit import open_dataset, write_edited
from yardarm.datasets.editing.recipe import OnProgress, PickedEpisode, Recipe, new_info, pick_episodes
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.review import EpisodeEdits
from yardarm.datasets.selection import select_episodes
from yardarm.errors import UsageError

__all__ = ["delete_episodes", "edit_episodes", "kept_frames", "relabel_episodes", "trim_episodes"]


def edit_episodes(
    root: Path, edits: EpisodeEdits, output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Apply several edits at once; all name episodes by their current numbers. `output=None` edits in place."""
    meta = open_dataset(root, output)
    return _write(meta, edits, output, on_progress)


def delete_episodes(
    root: Path, episodes: Sequence[int], output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Write a dataset without these episodes and renumber the others; `output=None` edits in place."""
    meta = open_dataset(root, output)
    deleted = select_episodes(episodes, meta.total_episodes, "--episodes")
    return _write(meta, EpisodeEdits(deleted=frozenset(deleted)), output, on_progress)


def trim_episodes(
    root: Path,
    episodes: Sequence[int] | None,
    frames: slice,
    output: Path | None,
    on_progress: OnProgress | None = None,
) -> DatasetMetadata:
    """Keep only these frames of each of the episodes (None: of all); as in any slice, -10 is the tenth from the end."""
    meta = open_dataset(root, output)
    chosen = select_episodes(episodes, meta.total_episodes, "--episodes")
    trimmed = {number: kept_frames(meta, number, frames) for number in chosen}
    return _write(meta, EpisodeEdits(trimmed=trimmed), output, on_progress)


def kept_frames(meta: DatasetMetadata, episode: int, frames: slice) -> range:
    """The frames of an episode that a trim keeps; refuses one that keeps nothing, or reaches beyond the episode."""
    length = meta.episodes[episode].length
    for name, value in (("start", frames.start), ("end", frames.stop)):
        if value is not None and not -length <= value <= length:
            raise UsageError(f"--{name}={value}: episode {episode} has only {length} frames")
    kept = range(length)[frames]
    if not kept:
        raise UsageError(f"nothing would be left of episode {episode}, which has {length} frames; delete it instead")
    return kept


def relabel_episodes(
    root: Path, episodes: Sequence[int], task: str, output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Give these episodes another instruction, for all of their frames."""
    meta = open_dataset(root, output)
    chosen = select_episodes(episodes, meta.total_episodes, "--episodes")
    return _write(meta, EpisodeEdits(relabelled=dict.fromkeys(chosen, task)), output, on_progress)


def _write(
    meta: DatasetMetadata, edits: EpisodeEdits, output: Path | None, on_progress: OnProgress | None
) -> DatasetMetadata:
    if edits.is_empty:
        raise UsageError("there is nothing to edit")
    select_episodes(sorted(edits.episodes), meta.total_episodes)
    for number, task in edits.relabelled.items():
        if not task.strip():
            raise UsageError(f"the new instruction of episode {number} is empty")
    kept = [number for number in range(meta.total_episodes) if number not in edits.deleted]
    if not kept:
        raise UsageError(f"all {meta.total_episodes} episodes of {meta.root} would be deleted; nothing would be left")
    picks = [_edited(pick, edits) for pick in pick_episodes(meta, kept)]
    return write_edited(meta, Recipe(new_info(meta.info), picks), output, on_progress)


def _edited(pick: PickedEpisode, edits: EpisodeEdits) -> PickedEpisode:
    number = pick.episode.index
    return replace(pick, kept=edits.trimmed.get(number), task=edits.relabelled.get(number))
