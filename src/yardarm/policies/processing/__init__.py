"""What happens to values on their way into a policy and out of it, as a checkpoint's JSON files tell."""

from yardarm.policies.processing.defaults import (
    POSTPROCESSOR,
    PREPROCESSOR,
    MakeProcessing,
    Processing,
    default_processing,
    modes_of,
    with_task_vector,
)
from yardarm.policies.processing.normalization import Normalize, Unnormalize
from yardarm.policies.processing.pipeline import PROCESSOR_STEPS, Pipeline, StoredPipeline
from yardarm.policies.processing.relative import RELATIVE_TO, AbsoluteActions, RelativeActions
from yardarm.policies.processing.steps import (
    Batch,
    ProcessorStep,
    Rename,
    Statistics,
    Tensors,
    ToBatch,
    ToDevice,
    tensors_of,
)
from yardarm.policies.processing.task_vector import (
    TASK_VECTOR,
    KnownTask,
    TaskVector,
    conditioned_features,
    unconditioned_features,
)
from yardarm.policies.processing.text import TOKEN_MASK, TOKENS, NewLine, Tokenize

__all__ = [
    "POSTPROCESSOR",
    "PREPROCESSOR",
    "PROCESSOR_STEPS",
    "RELATIVE_TO",
    "TASK_VECTOR",
    "TOKENS",
    "TOKEN_MASK",
    "AbsoluteActions",
    "Batch",
    "KnownTask",
    "MakeProcessing",
    "NewLine",
    "Normalize",
    "Pipeline",
    "Processing",
    "ProcessorStep",
    "RelativeActions",
    "Rename",
    "Statistics",
    "StoredPipeline",
    "TaskVector",
    "Tensors",
    "ToBatch",
    "ToDevice",
    "Tokenize",
    "Unnormalize",
    "conditioned_features",
    "default_processing",
    "modes_of",
    "tensors_of",
    "unconditioned_features",
    "with_task_vector",
]
