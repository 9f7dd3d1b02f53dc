"""Checkpoints in LeRobot's layout: their files, where they are found, how old ones differ, how they are written."""

from yardarm.policies.checkpoint.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG, WEIGHTS, CheckpointFolder
from yardarm.policies.checkpoint.finding import find_checkpoint
from yardarm.policies.checkpoint.fitting import UnusedTensors, check_fit, fill, find_unused
from yardarm.policies.checkpoint.migration import SplitWeights, split_old_statistics
from yardarm.policies.checkpoint.writing import check_hub, push_checkpoint, save_checkpoint

__all__ = [
    "ADAPTER_CONFIG",
    "ADAPTER_WEIGHTS",
    "CONFIG",
    "WEIGHTS",
    "CheckpointFolder",
    "SplitWeights",
    "UnusedTensors",
    "check_fit",
    "check_hub",
    "fill",
    "find_checkpoint",
    "find_unused",
    "push_checkpoint",
    "save_checkpoint",
    "split_old_statistics",
]
