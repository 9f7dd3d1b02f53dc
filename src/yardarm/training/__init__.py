"""Training: from a dataset to a policy that works."""

from yardarm.training.checkpoints import Checkpoint, find_checkpoint_to_resume
from yardarm.training.config import TrainConfig, TrainDatasetOptions, TrainEvalOptions, TrainOptions
from yardarm.training.config_file import TRAIN_CONFIG, check_resumed, config_from_data, config_to_data
from yardarm.training.listener import TrainingListener
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
    "config_from_data",
    "config_to_data",
    "find_checkpoint_to_resume",
    "push_trained",
    "train",
]
