"""What happens to values on their way into a policy and out of it, as a checkpoint's JSON files tell."""

from yardarm.policies.processing.defaults import (
    POSTPROCESSOR,
    PREPROCESSOR,
    make_postprocessor,
    make_preprocessor,
    modes_of,
)
from yardarm.policies.processing.normalization import Normalize, Statistics, Unnormalize
from yardarm.policies.processing.pipeline import Pipeline
from yardarm.policies.processing.steps import Batch, Rename, Step, ToBatch, ToDevice
from yardarm.policies.processing.task_vector import (
    TASK_VECTOR,
    KnownTask,
    TaskVector,
    conditioned_features,
    unconditioned_features,
)

__all__ = [
    "POSTPROCESSOR",
    "PREPROCESSOR",
    "TASK_VECTOR",
    "Batch",
    "KnownTask",
    "Normalize",
    "Pipeline",
    "Rename",
    "Statistics",
    "Step",
    "TaskVector",
    "ToBatch",
    "ToDevice",
    "Unnormalize",
    "conditioned_features",
    "make_postprocessor",
    "make_preprocessor",
    "modes_of",
    "unconditioned_features",
]
