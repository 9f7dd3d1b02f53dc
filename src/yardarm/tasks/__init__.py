"""What can be evaluated: benchmarks, their tasks, and how a selector becomes a list of tasks."""

from yardarm.tasks.benchmark import BENCHMARKS, BenchmarkConfig, option, positive
from yardarm.tasks.spec import ActionSpec, EnvSpec, EpisodeSpec, Feature, TaskSpec

__all__ = [
    "BENCHMARKS",
    "ActionSpec",
    "BenchmarkConfig",
    "EnvSpec",
    "EpisodeSpec",
    "Feature",
    "TaskSpec",
    "option",
    "positive",
]
