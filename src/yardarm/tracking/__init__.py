"""Tracking: what a run comes to, told to Weights & Biases while it goes on."""

from yardarm.tracking.options import WandbOptions
from yardarm.tracking.tracker import Tracker
from yardarm.tracking.weights_and_biases import WandbTracker, open_tracker, tracked_text

__all__ = ["Tracker", "WandbOptions", "WandbTracker", "open_tracker", "tracked_text"]
