"""Tracks runs and trainings with Weights & Biases while they run."""

from yardarm.tracking.options import WandbOptions
from yardarm.tracking.tracker import Tracker
from yardarm.tracking.training import TrainingTracker, open_training_tracker
from yardarm.tracking.weights_and_biases import WandbTracker, open_tracker, tracked_text

__all__ = [
    "Tracker",
    "TrainingTracker",
    "WandbOptions",
    "WandbTracker",
    "open_tracker",
    "open_training_tracker",
    "tracked_text",
]
