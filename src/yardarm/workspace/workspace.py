"""A folder of runs, trainings and evaluations: listed, labelled, deleted and put back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.results import Labels
from yardarm.workspace.deletion import Deletion, plan_deletion
from yardarm.workspace.folder_catalogue import Line
from yardarm.workspace.labelling import LabelChange, change_labels
from yardarm.workspace.run_catalogue import RunCatalogue
from yardarm.workspace.several_catalogue import SeveralCatalogue
from yardarm.workspace.training_catalogue import TrainingCatalogue
from yardarm.workspace.trash import Trash, TrashedFolder
from yardarm.workspace.viewed_folder import ViewedFolder, is_one

__all__ = ["DEFAULT_FOLDER", "KINDS", "Lines", "Workspace"]

DEFAULT_FOLDER = Path("outputs")
KINDS = ("runs", "trainings", "evaluations")
Lines = Mapping[str, Sequence[Line]]
"""Summary lines by kind."""


class Workspace:
    """Everything below one folder. The name of a run, a training or an evaluation is its path relative to it."""

    def __init__(self, root: Path) -> None:
        self.viewed = ViewedFolder(root)
        self.runs = RunCatalogue(self.viewed)
        self.trainings = TrainingCatalogue(self.viewed)
        self.evaluations = SeveralCatalogue(self.runs)
        self.trash = Trash(self.viewed)

    def lines(self) -> Lines:
        """A line for each run, training and evaluation of several policies."""
        found = list(self.viewed.walk())
        return {
            "runs": self.runs.lines(found),
            "trainings": self.trainings.lines(found),
            "evaluations": self.evaluations.lines(found),
        }

    def by_name(self) -> dict[str, Line]:
        """All lines, by name; a folder that is two things at once has the line of the larger."""
        lines = self.lines()
        return {line["name"]: line for kind in KINDS for line in lines[kind]}

    def folder(self, name: str) -> Path:
        """The folder with this name, of whatever kind."""
        path = self.viewed.path(name)
        if not path.is_dir() or not is_one(os.listdir(path)):
            raise UsageError(f"there is no run, training or evaluation '{name}'")
        self.viewed.check_links(path)
        return path

    def label(self, names: Sequence[str], change: LabelChange) -> list[Labels]:
        """Change labels; all names are checked before anything is written."""
        return [change_labels(folder, change) for folder in [self.folder(name) for name in names]]

    def plan_deletion(self, names: Sequence[str]) -> Deletion:
        """What deleting these would take away; a UsageError if one of them cannot be deleted."""
        return plan_deletion(self.viewed, names, self.by_name())

    def delete(self, names: Sequence[str]) -> list[TrashedFolder]:
        """Move folders to the trash; all are checked before the first is moved."""
        return [self.trash.put(name) for name in self.plan_deletion(names).names]
