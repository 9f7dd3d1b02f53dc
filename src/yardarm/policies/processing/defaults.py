"""The pipelines of a policy that has none yet: a new one, or one from an old checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from yardarm.hub import Repositories
from yardarm.policies.learned.config import FeatureType, NormalizationMode, PolicyConfig
from yardarm.policies.processing.normalization import Normalize, Unnormalize
from yardarm.policies.processing.pipeline import Pipeline
from yardarm.policies.processing.steps import Rename, Statistics, ToBatch, ToDevice
from yardarm.policies.processing.task_vector import TaskVector, unconditioned_features

__all__ = [
    "POSTPROCESSOR",
    "PREPROCESSOR",
    "MakeProcessing",
    "Processing",
    "default_processing",
    "modes_of",
    "with_task_vector",
]

# Their names are the names of their files, too.
PREPROCESSOR = "policy_preprocessor"
POSTPROCESSOR = "policy_postprocessor"


@dataclass(frozen=True, slots=True)
class Processing:
    """What happens to values before a network, and to its answer after."""

    preprocessor: Pipeline
    postprocessor: Pipeline

    def completed(self, repositories: Repositories) -> Self:
        """With everything that their steps only name."""
        return type(self)(self.preprocessor.completed(repositories), self.postprocessor.completed(repositories))


MakeProcessing = Callable[[Any, Statistics], Processing]
"""Makes the pipelines of a policy with this configuration, for data with these statistics."""


def default_processing(config: PolicyConfig, statistics: Statistics) -> Processing:
    """What LeRobot puts around a network by default: names, batches, devices, normalisation."""
    modes = modes_of(config)
    normalize = Normalize({**config.input_features, **config.output_features}, modes, statistics)
    unnormalize = Unnormalize(config.output_features, modes, statistics)
    return Processing(
        Pipeline(PREPROCESSOR, [Rename(), ToBatch(), ToDevice(), normalize]),
        Pipeline(POSTPROCESSOR, [unnormalize, ToDevice()]),
    )


def with_task_vector(
    make: MakeProcessing, config: PolicyConfig, statistics: Statistics, vector: TaskVector | None
) -> Processing:
    """The pipelines of a policy whose environment state has a task's vector at its end, which is not normalised."""
    if vector is None:
        return make(config, statistics)
    others = unconditioned_features(config.input_features, vector.size)
    made = make(dataclasses.replace(config, input_features=others), statistics)
    before = Pipeline(made.preprocessor.name, [*made.preprocessor.steps, vector])
    return Processing(before, made.postprocessor)


def modes_of(config: PolicyConfig) -> dict[FeatureType, NormalizationMode]:
    """How a configuration says that features are normalised."""
    return {FeatureType(kind): mode for kind, mode in config.normalization_mapping.items()}
