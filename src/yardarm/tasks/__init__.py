"""Benchmarks and their tasks: what can be evaluated, and how a selector becomes a list of tasks.

`option`, `one_of` and `positive` are exported here too, so that authors of benchmarks need no other import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.config import one_of, option, positive
from yardarm.late import late_names
from yardarm.tasks.benchmark import BENCHMARKS, BenchmarkConfig, ProbedBenchmark
from yardarm.tasks.spec import (
    FIRST_SEED,
    ActionSpec,
    EnvSpec,
    EpisodeSpec,
    EpisodeTiming,
    Feature,
    Home,
    TaskSpec,
    no_instruction,
)

if TYPE_CHECKING:
    from yardarm.tasks.from_data import env_from_data, envs_from_data, named_env

__all__ = [
    "BENCHMARKS",
    "FIRST_SEED",
    "ActionSpec",
    "BenchmarkConfig",
    "EnvSpec",
    "EpisodeSpec",
    "EpisodeTiming",
    "Feature",
    "Home",
    "ProbedBenchmark",
    "TaskSpec",
    "env_from_data",
    "envs_from_data",
    "named_env",
    "no_instruction",
    "one_of",
    "option",
    "positive",
]

# Workers have no draccus.
__getattr__ = late_names(__name__, dict.fromkeys(("env_from_data", "envs_from_data", "named_env"), "from_data"))
