"""Recording: episodes that were played become datasets, by playing them again and looking."""

from yardarm.recording.config import PASSED_ON, RecordConfig, RecordDatasetOptions, RecordOptions, Target
from yardarm.recording.hub import check_hub, push
from yardarm.recording.ledger import check_policy, check_root
from yardarm.recording.listener import RecordingListener
from yardarm.recording.of_evaluation import record_evaluation, recording_of
from yardarm.recording.recipe import Recipe, make_recipe
from yardarm.recording.recorder import Recording, record
from yardarm.recording.takes import MOST_TRIES, Take, play_enough, takes_of, too_few

__all__ = [
    "MOST_TRIES",
    "PASSED_ON",
    "Recipe",
    "RecordConfig",
    "RecordDatasetOptions",
    "RecordOptions",
    "Recording",
    "RecordingListener",
    "Take",
    "Target",
    "check_hub",
    "check_policy",
    "check_root",
    "make_recipe",
    "play_enough",
    "push",
    "record",
    "record_evaluation",
    "recording_of",
    "takes_of",
    "too_few",
]
