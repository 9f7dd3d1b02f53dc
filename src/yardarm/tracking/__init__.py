"""Tracks runs and trainings with Weights & Biases while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names
from yardarm.tracking.options import WandbOptions

if TYPE_CHECKING:
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

# Configurations need the options only.

__getattr__ = late_names(
    __name__,
    {
        "Tracker": "tracker",
        "TrainingTracker": "training",
        "WandbTracker": "weights_and_biases",
        "open_tracker": "weights_and_biases",
        "open_training_tracker": "training",
        "tracked_text": "weights_and_biases",
    },
)
