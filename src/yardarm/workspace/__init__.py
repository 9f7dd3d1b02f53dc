"""A folder of runs and trainings as a workspace: found, listed, labelled, filtered, deleted and put back."""

from yardarm.workspace.cleaning import OLD_DAYS, Leftover, find_leftovers
from yardarm.workspace.deletion import Deletion
from yardarm.workspace.file_cache import FileCache, Stamp, stamp_of
from yardarm.workspace.filters import Filters
from yardarm.workspace.folder_catalogue import Line
from yardarm.workspace.labelling import LabelChange
from yardarm.workspace.run_catalogue import RunCatalogue
from yardarm.workspace.sizes import folder_size, readable_size
from yardarm.workspace.training_catalogue import TrainingCatalogue
from yardarm.workspace.trash import Trash, TrashedFolder
from yardarm.workspace.viewed_folder import ViewedFolder
from yardarm.workspace.workspace import DEFAULT_FOLDER, KINDS, Lines, Workspace

__all__ = [
    "DEFAULT_FOLDER",
    "KINDS",
    "OLD_DAYS",
    "Deletion",
    "FileCache",
    "Filters",
    "LabelChange",
    "Leftover",
    "Line",
    "Lines",
    "RunCatalogue",
    "Stamp",
    "TrainingCatalogue",
    "Trash",
    "TrashedFolder",
    "ViewedFolder",
    "Workspace",
    "find_leftovers",
    "folder_size",
    "readable_size",
    "stamp_of",
]
