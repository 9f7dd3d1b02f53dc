"""What can be evaluated: benchmarks, their tasks, and how a selector becomes a list of tasks."""

from yardarm.tasks.benchmark import BENCHMARKS, BenchmarkConfig, NamedCode, ProbedBenchmark, one_of, option, positive
from yardarm.tasks.spec import FIRST_SEED, ActionSpec, EnvSpec, EpisodeSpec, Feature, Home, TaskSpec

__all__ = [
    "BENCHMARKS",
    "FIRST_SEED",
    "ActionSpec",
    "BenchmarkConfig",
    "EnvSpec",
    "EpisodeSpec",
    "Feature",
    "Home",
    "NamedCode",
    "ProbedBenchmark",
    "TaskSpec",
    "one_of",
    "option",
    "positive",
]
