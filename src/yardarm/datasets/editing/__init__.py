"""Edits datasets. An edit writes a new folder; the original is kept, or replaced once the result is complete."""

from yardarm.datasets.editing.changing import (
    add_feature,
    convert_dataset,
    recompute_stats,
    reencode_videos,
    remove_features,
    rename_task,
    rename_tasks,
)
from yardarm.datasets.editing.describing import DatasetSummary, describe_dataset
from yardarm.datasets.editing.episode_edits import (
    delete_episodes,
    edit_episodes,
    kept_frames,
    relabel_episodes,
    trim_episodes,
)
from yardarm.datasets.editing.merging import merge_datasets
from yardarm.datasets.editing.recipe import OnProgress
from yardarm.datasets.editing.splitting import split_dataset
from yardarm.datasets.editing.transaction import replace_keeping_original

__all__ = [
    "DatasetSummary",
    "OnProgress",
    "add_feature",
    "convert_dataset",
    "delete_episodes",
    "describe_dataset",
    "edit_episodes",
    "kept_frames",
    "merge_datasets",
    "recompute_stats",
    "reencode_videos",
    "relabel_episodes",
    "remove_features",
    "rename_task",
    "rename_tasks",
    "replace_keeping_original",
    "split_dataset",
    "trim_episodes",
]
