"""The datasets below some folders, read again only when their files change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from yardarm.datasets import DatasetMetadata, Episode, read_metadata
from yardarm.datasets.browsing import episode_pictures, read_info
from yardarm.errors import UsageError, one_line
from yardarm.pages.dataset_data import dataset_facts
from yardarm.workspace import FileCache, stamp_of

__all__ = ["DatasetCatalogue"]

SIGN = Path("meta", "info.json")


class DatasetCatalogue:
    """Folders of datasets, or datasets. A dataset's name is its path relative to its folder.

    With several folders, or one that is itself a dataset, names start with the folder's name.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UsageError(f"there is no folder {folder}; give a dataset, or a folder of datasets")
        roots = list(dict.fromkeys(folder.resolve() for folder in folders))
        alone = len(roots) == 1 and not _is_dataset(roots[0])
        self.folders = {"": roots[0]} if alone else _labelled(roots)
        self._metadata: FileCache[DatasetMetadata] = FileCache()
        # An episode's pictures may take hundreds of megabytes; each camera of a page has its own entry.
        self._pictures: FileCache[list[bytes]] = FileCache(kept=4)

    def names(self) -> list[str]:
        """The names of all datasets."""
        return [name for name, _ in self._datasets()]

    def lines(self) -> list[dict[str, Any]]:
        """A line for each dataset; for a damaged one, what is wrong with it."""
        return [self._line(name, path) for name, path in self._datasets()]

    def metadata(self, name: str) -> DatasetMetadata:
        """A dataset's current metadata."""
        path = self.path(name)
        self._check(path.glob("meta/**/*"))
        stamp = tuple(stamp_of(path / "meta" / own) for own in ("info.json", "stats.json", "tasks.parquet"))
        return self._metadata.get(name, stamp, lambda: read_metadata(path))

    def check_files(self, meta: DatasetMetadata, episodes: Sequence[Episode]) -> None:
        """Raise a UsageError for episodes whose files are outside the viewed folders, by path or by link."""
        self._check(dict.fromkeys(meta.data_file(episode) for episode in episodes))
        self._check(dict.fromkeys(meta.video_file(episode, key) for episode in episodes for key in episode.videos))

    def pictures(self, meta: DatasetMetadata, episode: Episode, key: str) -> list[bytes]:
        """An episode's encoded pictures, cached for the next request."""
        name = f"{meta.root}\0{episode.index}\0{key}"
        stamp = (stamp_of(meta.data_file(episode)),)
        return self._pictures.get(name, stamp, lambda: episode_pictures(meta, episode, key))

    def path(self, name: str) -> Path:
        """The path of the dataset with this name; never outside the folders."""
        for label, root in self.folders.items():
            if label and name != label and not name.startswith(f"{label}/"):
                continue
            try:
                path = (root / name[len(label) :].lstrip("/")).resolve()
            except ValueError:
                raise UsageError(f"{name!r} is not a valid name of a dataset") from None
            if not path.is_relative_to(root):
                raise UsageError(f"'{name}' is outside the viewed folder")
            if _is_dataset(path):
                return path
        raise UsageError(f"there is no dataset '{name}'")

    def name_of(self, path: Path) -> str | None:
        """The name of the dataset at this path; None if it is outside the folders."""
        for label, root in self.folders.items():
            if path.is_relative_to(root):
                return "/".join(filter(None, [label, *path.relative_to(root).parts]))
        return None

    def _check(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if not any(path.resolve().is_relative_to(root) for root in self.folders.values()):
                raise UsageError(f"{path} is outside the viewed folder; view a folder that contains both, or a copy")

    def _line(self, name: str, path: Path) -> dict[str, Any]:
        try:
            self._check([path / SIGN])
            return dataset_facts(name, read_info(path))
        except Exception as error:  # a problem with one dataset must not hide the rest
            return {"name": name, "problem": str(error) if isinstance(error, UsageError) else one_line(error)}

    def _datasets(self) -> Iterator[tuple[str, Path]]:
        for label, root in self.folders.items():
            for folder, inner, _ in os.walk(root):
                path = Path(folder)
                inner[:] = sorted(name for name in inner if not name.startswith("."))
                if not _is_dataset(path):
                    continue
                inner.clear()
                name = "/".join(filter(None, [label, *path.relative_to(root).parts]))
                if name.isprintable():  # otherwise no address could name it
                    yield name, path


def _is_dataset(path: Path) -> bool:
    return os.path.lexists(path / SIGN)


def _labelled(roots: Sequence[Path]) -> dict[str, Path]:
    """Folders by name; duplicate names get a number."""
    found: dict[str, Path] = {}
    for root in roots:
        label, number = root.name, 2
        while label in found:
            label, number = f"{root.name} ({number})", number + 1
        found[label] = root
    return found
