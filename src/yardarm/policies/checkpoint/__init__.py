"""Checkpoints in LeRobot's layout: their files, where they are found, how old ones differ, how they are written."""

from yardarm.policies.checkpoint.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG, WEIGHTS, CheckpointFolder
from yardarm.policies.checkpoint.finding import find_checkpoint
from yardarm.policies.checkpoint.fitting import NamesNow, UnusedTensors, check_fit, fill, read_weights, same_names
from yardarm.policies.checkpoint.migration import SplitWeights, split_old_statistics
from yardarm.policies.checkpoint.writing import check_hub, push_checkpoint, save_checkpoint

__all__ = [
    "ADAPTER_CONFIG",
    "ADAPTER_WEIGHTS",
    "CONFIG",
    "WEIGHTS",
    "CheckpointFolder",
    "NamesNow",
    "SplitWeights",
    "UnusedTensors",
    "check_fit",
    "check_hub",
    "fill",
    "find_checkpoint",
    "push_checkpoint",
    "read_weights",
    "same_names",
    "save_checkpoint",
    "split_old_statistics",
]
