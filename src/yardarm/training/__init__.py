"""Training: from a dataset to a policy that works.

A configuration is checked without torch, which is imported when a training is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names
from yardarm.training.config import TrainConfig, TrainDatasetOptions, TrainEvalOptions, TrainOptions
from yardarm.training.listener import TrainingListener

if TYPE_CHECKING:
    from yardarm.training.checkpoints import Checkpoint, find_checkpoint_to_resume
    from yardarm.training.config_file import (
        TRAIN_CONFIG,
        check_resumed,
        check_same,
        config_from_data,
        config_to_data,
    )
    from yardarm.training.run import TrainingResult, push_trained, train

__all__ = [
    "TRAIN_CONFIG",
    "Checkpoint",
    "TrainConfig",
    "TrainDatasetOptions",
    "TrainEvalOptions",
    "TrainOptions",
    "TrainingListener",
    "TrainingResult",
    "check_resumed",
    "check_same",
    "config_from_data",
    "config_to_data",
    "find_checkpoint_to_resume",
    "push_trained",
    "train",
]

CONFIG_FILE = ("TRAIN_CONFIG", "check_resumed", "check_same", "config_from_data", "config_to_data")
__getattr__ = late_names(
    __name__,
    {
        **dict.fromkeys(("Checkpoint", "find_checkpoint_to_resume"), "checkpoints"),
        **dict.fromkeys(CONFIG_FILE, "config_file"),
        **dict.fromkeys(("TrainingResult", "push_trained", "train"), "run"),
    },
)
