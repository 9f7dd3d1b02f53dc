"""What pages change about datasets: flags and planned edits, and applying them."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.contents import Check, count, flag, list_of, optional, record, text
from yardarm.datasets import DatasetMetadata, select_episodes
from yardarm.datasets.editing import edit_episodes, kept_frames
from yardarm.datasets.review import EpisodeEdits, Review, read_review, write_review
from yardarm.errors import UsageError
from yardarm.pages.dataset_review_data import review_data
from yardarm.viewer.background_job import BackgroundJob
from yardarm.viewer.dataset_catalogue import DatasetCatalogue

__all__ = ["DatasetEdits"]

NOTE = record(
    {"dataset": text, "episodes": list_of(count)},
    {"flag": optional(text), "delete": flag, "keep": optional(list_of(count)), "task": optional(text)},
)
CLEAR = record({"dataset": text})
APPLY = record({"dataset": text}, {"output": text, "replace": flag})
LONGEST_TEXT = 1000


class DatasetEdits:
    """Notes about episodes, which lie beside the dataset's metadata; and the edits that are being applied."""

    def __init__(self, catalogue: DatasetCatalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._jobs: dict[str, BackgroundJob] = {}

    def review(self, meta: DatasetMetadata) -> dict[str, Any]:
        """What is noted about a dataset; or why that cannot be read."""
        try:
            return review_data(meta, read_review(meta))
        except UsageError as error:
            return {**review_data(meta, Review()), "problem": str(error)}

    def note(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Flag episodes, or plan to delete, trim or relabel them; null, or false, takes it back."""
        _check(NOTE, wanted)
        with self._lock:
            meta = self._catalogue.metadata(wanted["dataset"])
            episodes = select_episodes(wanted["episodes"], meta.total_episodes)
            review = read_review(meta)
            for episode in episodes:
                review = _noted(meta, review, episode, wanted)
            self._write(meta, review)
        return self.review(meta)

    def clear(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Forget all planned edits; flags stay."""
        _check(CLEAR, wanted)
        with self._lock:
            meta = self._catalogue.metadata(wanted["dataset"])
            self._write(meta, replace(read_review(meta), edits=EpisodeEdits()))
        return self.review(meta)

    def apply(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to apply the planned edits: to a new dataset beside this one, or in place if that is asked for."""
        _check(APPLY, wanted)
        name = wanted["dataset"]
        if bool(wanted.get("replace")) == bool(wanted.get("output")):
            raise UsageError("give the name of a new dataset as 'output', or 'replace': true")
        with self._lock:
            if name in self._jobs and self._jobs[name].state == "running":
                raise UsageError("edits of this dataset are being applied already; wait until they are done")
            meta = self._catalogue.metadata(name)
            self._catalogue.check_files(meta, meta.episodes)
            edits = read_review(meta).edits
            if edits.is_empty:
                raise UsageError("there are no edits to apply")
            output = None if wanted.get("replace") else _new_folder(meta.root, wanted["output"])
            job = BackgroundJob(lambda job: edit_episodes(meta.root, edits, output, job.on_progress))
            self._jobs[name] = job
        return self.progress(name)

    def progress(self, name: str) -> dict[str, Any]:
        """How far the newest application of edits is; and the new dataset, when it is there."""
        job = self._jobs.get(name)
        if job is None:
            return {"state": "none"}
        meta: DatasetMetadata | None = job.result
        if meta is None:
            return job.status()
        return {
            **job.status(),
            "path": str(meta.root),
            "name": self._catalogue.name_of(meta.root.resolve()),
            "episodes": meta.total_episodes,
            "frames": meta.total_frames,
        }

    def _write(self, meta: DatasetMetadata, review: Review) -> None:
        try:
            write_review(meta.root, review, [episode.length for episode in meta.episodes])
        except OSError as error:
            raise UsageError(f"{meta.root} cannot be written: {error.strerror}; copy the dataset first") from error


def _check(check: Check, wanted: Mapping[str, Any]) -> None:
    try:
        check(wanted, "")
    except ValueError as error:
        raise UsageError(str(error)) from None
    for name in ("flag", "task"):
        if len(wanted.get(name) or "") > LONGEST_TEXT:
            raise UsageError(f"'{name}' must be shorter than {LONGEST_TEXT} characters")


def _noted(meta: DatasetMetadata, review: Review, episode: int, wanted: Mapping[str, Any]) -> Review:
    flags, edits = dict(review.flags), review.edits
    deleted, trimmed, relabelled = set(edits.deleted), dict(edits.trimmed), dict(edits.relabelled)
    if "flag" in wanted:
        _set(flags, episode, wanted["flag"])
    if "delete" in wanted:
        deleted = deleted | {episode} if wanted["delete"] else deleted - {episode}
    if "keep" in wanted:
        _set(trimmed, episode, _kept(meta, episode, wanted["keep"]))
    if "task" in wanted:
        task = wanted["task"]
        if task is not None and not task.strip():
            raise UsageError("an instruction must not be empty")
        same = task is not None and meta.episodes[episode].tasks == (task.strip(),)
        _set(relabelled, episode, None if task is None or same else task.strip())
    return Review(flags, EpisodeEdits(frozenset(deleted), trimmed, relabelled))


def _set(noted: dict[int, Any], episode: int, value: Any) -> None:
    if value is None:
        noted.pop(episode, None)
    else:
        noted[episode] = value


def _kept(meta: DatasetMetadata, episode: int, pair: list[int] | None) -> range | None:
    if pair is None:
        return None
    if len(pair) != 2:
        raise UsageError(f"'keep' must be two frames, got {pair}")
    kept = kept_frames(meta, episode, slice(*pair))
    return kept if len(kept) < meta.episodes[episode].length else None


def _new_folder(root: Path, name: str) -> Path:
    """A folder beside the dataset; a page may name no other place."""
    if not re.fullmatch(r"\w[\w.\- ]{0,200}", name):
        raise UsageError(f"'{name}' cannot be a folder's name; use letters, digits, '.', '_', '-' and spaces")
    folder = root.with_name(name)
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder} exists already; choose another name")
    return folder
