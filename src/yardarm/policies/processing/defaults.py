"""The pipelines of a policy that has none yet: a new one, or one from an old checkpoint."""

from __future__ import annotations

from yardarm.policies.learned.config import FeatureType, NormalizationMode, PolicyConfig
from yardarm.policies.processing.normalization import Normalize, Statistics, Unnormalize
from yardarm.policies.processing.pipeline import Pipeline
from yardarm.policies.processing.steps import Rename, Step, ToBatch, ToDevice
from yardarm.policies.processing.task_vector import TaskVector, unconditioned_features

__all__ = ["POSTPROCESSOR", "PREPROCESSOR", "make_postprocessor", "make_preprocessor", "modes_of"]

# Their names are the names of their files, too.
PREPROCESSOR = "policy_preprocessor"
POSTPROCESSOR = "policy_postprocessor"


def make_preprocessor(config: PolicyConfig, statistics: Statistics, told: TaskVector | None = None) -> Pipeline:
    """What LeRobot puts before a network by default, and after it the vector that a policy is told its task by."""
    inputs = unconditioned_features(config.input_features, told.size) if told else config.input_features
    normalize = Normalize({**inputs, **config.output_features}, modes_of(config), statistics)
    steps: list[Step] = [Rename(), ToBatch(), ToDevice(), normalize]
    return Pipeline(PREPROCESSOR, [*steps, told] if told else steps)


def make_postprocessor(config: PolicyConfig, statistics: Statistics) -> Pipeline:
    """What LeRobot puts after a network by default."""
    unnormalize = Unnormalize(config.output_features, modes_of(config), statistics)
    return Pipeline(POSTPROCESSOR, [unnormalize, ToDevice()])


def modes_of(config: PolicyConfig) -> dict[FeatureType, NormalizationMode]:
    """How a configuration says that features are normalised."""
    return {FeatureType(kind): mode for kind, mode in config.normalization_mapping.items()}
