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

__all__ = [
    "POSTPROCESSOR",
    "PREPROCESSOR",
    "Batch",
    "Normalize",
    "Pipeline",
    "Rename",
    "Statistics",
    "Step",
    "ToBatch",
    "ToDevice",
    "Unnormalize",
    "make_postprocessor",
    "make_preprocessor",
    "modes_of",
]
