"""Checkpoints in LeRobot's layout: their files, where they are found, how old ones differ, how they are written."""

from yardarm.policies.checkpoint.files import CONFIG, WEIGHTS, CheckpointFolder
from yardarm.policies.checkpoint.finding import find_checkpoint
from yardarm.policies.checkpoint.migration import SplitWeights, split_old_statistics
from yardarm.policies.checkpoint.writing import push_checkpoint, save_checkpoint

__all__ = [
    "CONFIG",
    "WEIGHTS",
    "CheckpointFolder",
    "SplitWeights",
    "find_checkpoint",
    "push_checkpoint",
    "save_checkpoint",
    "split_old_statistics",
]
