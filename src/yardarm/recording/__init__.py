"""Recording: episodes that were played become datasets, by playing them again and looking."""

from yardarm.recording.config import PASSED_ON, RecordConfig, RecordDatasetOptions, RecordOptions, Target
from yardarm.recording.dataset_plan import DatasetPlan, plan_dataset
from yardarm.recording.hub import check_hub, push
from yardarm.recording.listener import RecordingListener
from yardarm.recording.playing import MOST_TRIES
from yardarm.recording.run import (
    Recording,
    RecordingPlan,
    evaluate_and_record,
    plan_recording,
    plan_recording_of,
    record,
    record_run,
)
from yardarm.recording.source_episodes import SourceEpisode
from yardarm.recording.writing import RecordedDataset

__all__ = [
    "MOST_TRIES",
    "PASSED_ON",
    "DatasetPlan",
    "RecordConfig",
    "RecordDatasetOptions",
    "RecordOptions",
    "RecordedDataset",
    "Recording",
    "RecordingListener",
    "RecordingPlan",
    "SourceEpisode",
    "Target",
    "check_hub",
    "evaluate_and_record",
    "plan_dataset",
    "plan_recording",
    "plan_recording_of",
    "push",
    "record",
    "record_run",
]
