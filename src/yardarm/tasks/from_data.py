"""Makes benchmarks from the ``env`` section of flags and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yardarm.config import admit, decode, require_value
from yardarm.errors import UsageError
from yardarm.tasks.benchmark import BENCHMARKS, BenchmarkConfig

__all__ = ["env_from_data", "envs_from_data"]

EVAL = "eval"


def envs_from_data(
    data: Mapping[str, Any] | list[Any], trusted: bool = False
) -> BenchmarkConfig | list[BenchmarkConfig]:
    """One benchmark, or a list of them, which only a file can contain."""
    if isinstance(data, Mapping):
        return env_from_data(data, trusted=trusted)
    return [env_from_data(item, trusted=trusted) for item in data]


def env_from_data(data: Any, command: str = EVAL, trusted: bool = False) -> BenchmarkConfig:
    """A benchmark's configuration; code that only a file names must be `trusted`."""
    if not isinstance(data, Mapping):
        raise UsageError(f"env: each benchmark in the list must be a section with a type, got '{data}'")
    require_value("env.type", data.get("type"))
    if not data.get("type"):
        raise UsageError(f"--env.type is missing; give one of {', '.join(BENCHMARKS.names())}")
    benchmark = BENCHMARKS.load(str(data["type"]))
    options = {name: value for name, value in data.items() if name != "type"}
    config: BenchmarkConfig = decode(benchmark, "env", options, command)
    admit("env", config.named_code(), data, trusted)
    return config
