"""Saves the results of a run whose folder or journal was deleted, moved or replaced while it was being written."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from yardarm.errors import StorageFault
from yardarm.files import write_atomically
from yardarm.results.files import PlayedEpisode, RunFolder
from yardarm.results.journal import Journal, journal_lines
from yardarm.results.record import EpisodeRecord

__all__ = ["rescue"]

WHILE = "while it was being written"
Finished = tuple[EpisodeRecord, PlayedEpisode | None]


def rescue(journal: Journal, episodes: Sequence[Finished] = ()) -> StorageFault:
    """Save all records of a journal, and new episodes; return a fault that says what happened and where they are.

    If the folder was moved, it still has everything, and gets the new episodes. If only the journal is gone, its
    records are saved to another file in the folder; if the folder is gone, to a new folder next to its old place.
    """
    try:
        moved = journal.watched.moved_to()
        return _finish_moved(journal, episodes, moved) if moved else _save_elsewhere(journal, episodes)
    except OSError as error:
        return StorageFault(
            f"{journal.path.parent} was deleted, moved or replaced {WHILE}, and the results of its {_count(journal)} "
            f"finished episodes could not be saved elsewhere: {error}"
        )


def _finish_moved(journal: Journal, episodes: Sequence[Finished], moved: Path) -> StorageFault:
    _save_played(RunFolder(moved), episodes)
    journal.write_on([record for record, _ in episodes])
    return StorageFault(
        f"{journal.path.parent} was moved to {moved} {WHILE}; nothing is lost: its {_count(journal)} finished episodes "
        f"are there; resume with --output_dir={moved}"
    )


def _save_elsewhere(journal: Journal, episodes: Sequence[Finished]) -> StorageFault:
    folder, has_folder = journal.path.parent, journal.watched.has_folder
    lost = journal.path if has_folder else folder
    happened = "replaced" if lost.exists() else "deleted"
    if journal.refuge is None:
        journal.refuge = (
            _free(journal.path.with_name(f"{journal.path.stem}.recovered.jsonl"))
            if has_folder
            else _free(folder.absolute().with_name(f"{folder.absolute().name}_recovered")) / journal.path.name
        )
    refuge = journal.refuge
    _save_played(RunFolder(refuge.parent), episodes)
    journal.records.update((record.key, record) for record, _ in episodes)
    write_atomically(refuge, lambda file: file.write(journal_lines(journal.records.values())))
    if has_folder:
        where = f"are saved in {refuge}: rename it to {journal.path.name}, then resume with the same command"
    else:
        where = (
            f"are saved in {refuge.parent}, but most of their actions are lost; resume with "
            f"--output_dir={refuge.parent}"
        )
    results = f"the results of its {_count(journal)} finished episodes"
    return StorageFault(f"{lost} was {happened} {WHILE}; {results} {where}")


def _count(journal: Journal) -> int:
    return len(journal.finished())


def _save_played(folder: RunFolder, episodes: Iterable[Finished]) -> None:
    for record, played in episodes:
        if played is not None:
            folder.save_played(record.key, played)


def _free(path: Path) -> Path:
    """A name that does not exist yet: with a number, if necessary."""
    numbered = (path.with_name(f"{path.stem}_{number}{path.suffix}") for number in itertools.count(2))
    return next(name for name in itertools.chain([path], numbered) if not name.exists())
