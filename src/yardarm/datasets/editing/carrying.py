"""Takes files over as they are: copies them, or, where the original goes away, gives them a second name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from yardarm.datasets.editing.recipe import PickedEpisode
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import rollouts_file, video_file
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.errors import DatasetFault
from yardarm.files import write_atomically

__all__ = ["carry_other_files", "carry_rollouts", "carry_video_files", "other_files"]

OWN_FOLDERS = ("data", "videos", "meta/episodes")
OWN_FILES = (
    *("meta/info.json", "meta/stats.json", "meta/tasks.parquet"),
    *("meta/tasks.jsonl", "meta/episodes.jsonl", "meta/episodes_stats.jsonl", "meta/rollouts.jsonl"),
)


def carry(source: Path, target: Path, link: bool) -> None:
    """Have a file at another place, too."""
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


def carry_video_files(meta: DatasetMetadata, key: str, root: Path, info: DatasetInfo, link: bool) -> Iterator[int]:
    """PickedEpisode a camera's files over with their numbers; yields how many episodes' videos each has."""
    slots = [episode.videos[key].slot for episode in meta.episodes]
    for slot in dict.fromkeys(slots):
        carry(video_file(meta.root, meta.info, key, slot), video_file(root, info, key, slot), link)
        yield slots.count(slot)


def carry_rollouts(takes: Sequence[PickedEpisode], root: Path) -> None:
    """Keep what is written down of where episodes are from, with a line for each of the new ones, if all have one."""
    known: dict[Path, list[bytes]] = {}
    lines = []
    for take in takes:
        source = rollouts_file(take.reader.meta.root)
        if source not in known:
            known[source] = source.read_bytes().splitlines(keepends=True) if source.exists() else []
        if take.episode.index >= len(known[source]):
            return
        lines.append(known[source][take.episode.index])
    write_atomically(rollouts_file(root), lambda file: file.writelines(lines))


def carry_other_files(source: Path, root: Path, in_place: bool) -> None:
    """PickedEpisode over what others keep in a dataset's folder: its card, a `meta/modality.json`."""
    for path in other_files(source):
        name = path.relative_to(source)
        # A copy needs no traces of where the original came from; in place, a `.git` folder must not get lost.
        is_wanted = in_place or not name.parts[0].startswith(".") or name.name == ".gitattributes"
        if in_place and path.is_symlink():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(os.readlink(path))
        elif is_wanted and path.is_file():  # a link that leads nowhere, or to a folder, stays with the original
            carry(path, root / name, link=in_place)


def other_files(root: Path) -> Iterator[Path]:
    """Files that are no part of the format."""
    for folder, folders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = [name for name in folders if (place / name).as_posix() not in OWN_FOLDERS]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*names, *links):
            path = (place / name).as_posix()
            if path not in OWN_FILES and not (path.startswith(".draft-") and path.endswith(".mp4")):
                yield root / path
