"""Copies unchanged files, or hard-links them if the original is deleted afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from yardarm.datasets.editing.recipe import PickedEpisode
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import rollouts_file, video_file
from yardarm.datasets.measured import read_measured, write_measured
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.review import REVIEW_FILE, EpisodeEdits, Review, read_review, write_review
from yardarm.errors import DatasetFault
from yardarm.files import write_atomically

__all__ = ["copy_measured", "copy_other_files", "copy_review", "copy_rollouts", "copy_video_files", "other_files"]

OWN_FOLDERS = ("data", "videos", "meta/episodes", "meta/measured")
OWN_FILES = (
    *("meta/info.json", "meta/stats.json", "meta/tasks.parquet"),
    *("meta/tasks.jsonl", "meta/episodes.jsonl", "meta/episodes_stats.jsonl", "meta/rollouts.jsonl"),
    REVIEW_FILE,
)


def copy_or_link(source: Path, target: Path, link: bool) -> None:
    """Put a file at another place too."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        try:
            os.link(source, target)
        except OSError:
            pass  # a file system without links
        else:
            return
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        raise DatasetFault(f"{source} is missing; the dataset is incomplete") from None


def copy_video_files(meta: DatasetMetadata, key: str, root: Path, info: DatasetInfo, link: bool) -> Iterator[int]:
    """Copy a camera's files under the same numbers; yield how many episodes each contains."""
    slots = [episode.videos[key].slot for episode in meta.episodes]
    for slot in dict.fromkeys(slots):
        copy_or_link(video_file(meta.root, meta.info, key, slot), video_file(root, info, key, slot), link)
        yield slots.count(slot)


def copy_rollouts(picks: Sequence[PickedEpisode], root: Path) -> None:
    """Copy the lines that say where episodes came from, if every episode has one."""
    known: dict[Path, list[bytes]] = {}
    lines = []
    for pick in picks:
        source = rollouts_file(pick.reader.meta.root)
        if source not in known:
            known[source] = source.read_bytes().splitlines(keepends=True) if source.exists() else []
        if pick.episode.index >= len(known[source]):
            return
        lines.append(known[source][pick.episode.index])
    write_atomically(rollouts_file(root), lambda file: file.writelines(lines))


def copy_measured(picks: Sequence[PickedEpisode], root: Path) -> None:
    """Copy the measured times of the episodes that have some, and of the frames that are kept."""
    for number, pick in enumerate(picks):
        measured = read_measured(pick.reader.meta.root, pick.episode.index)
        if measured is not None and len(measured) == pick.episode.length:
            write_measured(root, number, measured.part(pick.frames))


def copy_review(picks: Sequence[PickedEpisode], root: Path) -> None:
    """Copy the flags of episodes, and the edits that are planned for those that this edit leaves as they are."""
    metas = {id(pick.reader.meta): pick.reader.meta for pick in picks}
    reviews = {key: read_review(meta) for key, meta in metas.items()}
    flags: dict[int, str] = {}
    edits = EpisodeEdits()
    for number, pick in enumerate(picks):
        old, review = pick.episode.index, reviews[id(pick.reader.meta)]
        if old in review.flags:
            flags[number] = review.flags[old]
        if pick.kept is None and pick.task is None:
            edits = edits.joined(review.edits.of(old, number))
    if flags or not edits.is_empty:
        write_review(root, Review(flags, edits), [len(pick.frames) for pick in picks])


def copy_other_files(source: Path, root: Path, in_place: bool) -> None:
    """Copy other files from a dataset's folder: its card, a `meta/modality.json`."""
    for path in other_files(source):
        name = path.relative_to(source)
        # A copy does not need hidden folders like `.git`; an edit in place must not lose them.
        is_wanted = in_place or not name.parts[0].startswith(".") or name.name == ".gitattributes"
        if in_place and path.is_symlink():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(os.readlink(path))
        elif is_wanted and path.is_file():  # not a broken link, nor a link to a folder
            copy_or_link(path, root / name, link=in_place)


def other_files(root: Path) -> Iterator[Path]:
    """Files that are not part of the format."""
    for folder, folders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if (place / name).as_posix() not in OWN_FOLDERS]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*names, *links):
            path = (place / name).as_posix()
            if path not in OWN_FILES and not path.startswith(".draft-"):
                yield root / path
