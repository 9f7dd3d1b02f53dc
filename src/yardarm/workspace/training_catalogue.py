"""The trainings below a folder; their curves are read incrementally as they grow."""

from __future__ import annotations

import os
from typing import Any

from yardarm.errors import UsageError
from yardarm.pages import StoredTraining, training_data, training_line
from yardarm.results import CurveReader, RunFolder, TrainingFolder, is_going_on
from yardarm.workspace.file_cache import FileCache, Stamp, stamp_of
from yardarm.workspace.folder_catalogue import FolderCatalogue, Line
from yardarm.workspace.viewed_folder import FoundFolder, ViewedFolder, is_training

__all__ = ["TrainingCatalogue"]


class TrainingCatalogue(FolderCatalogue[TrainingFolder]):
    """The trainings below a folder. A training's name is its path relative to the folder."""

    kind = "training"

    def __init__(self, viewed: ViewedFolder) -> None:
        super().__init__(viewed)
        self._readers: FileCache[CurveReader] = FileCache()

    def folder(self, name: str) -> TrainingFolder:
        """The folder of the training with this name."""
        path = self.viewed.path(name)
        if not path.is_dir() or not is_training(os.listdir(path)):
            raise UsageError(f"there is no training '{name}'")
        self.viewed.check_links(path)
        return TrainingFolder(path)

    def data(self, name: str) -> dict[str, Any]:
        """The current data of a training's page."""
        return training_data(self._training(name, self.folder(name)))

    def evaluated_by(self, run: RunFolder) -> str | None:
        """The name of the training that a run belongs to, if any."""
        around = run.path.parent.parent
        if not self.viewed.contains(around) or not TrainingFolder(around).manifest.is_file():
            return None
        return os.path.relpath(around, self.viewed.root)

    def _training(self, name: str, folder: TrainingFolder) -> StoredTraining:
        manifest = folder.read_manifest()
        status = manifest.status
        if status == "running" and not is_going_on(folder):
            status = "interrupted"
        reader = self._readers.get(name, (), lambda: CurveReader(folder.journal))
        return StoredTraining(name, folder.path, status, manifest, reader.points())

    def _chosen(self, found: FoundFolder) -> TrainingFolder | None:
        return TrainingFolder(found.path) if found.is_training else None

    def _stamp(self, folder: TrainingFolder) -> Stamp:
        return stamp_of(folder.manifest), stamp_of(folder.journal)

    def _read_line(self, name: str, folder: TrainingFolder) -> Line:
        return training_line(self._training(name, folder))
