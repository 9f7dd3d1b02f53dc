"""``yardarm info``: versions, cores, renderer, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.envs import ProcessPool
from yardarm.errors import SetupError
from yardarm.machine import cpu_model, total_memory_gb, usable_cores
from yardarm.policies import POLICIES
from yardarm.results import versions
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """Print what this machine has; exit code 1 if a benchmark cannot run."""
    if words:
        print("Show versions, cores, renderer, and what is missing and how to get it.\n\nusage: yardarm info")
        return 0
    for package, version in versions().items():
        print(f"{package:<12} {version or 'not installed'}")
    print(f"{'processor':<12} {cpu_model()}, {usable_cores()} usable core(s), {total_memory_gb()} GB of memory")
    print(f"{'policies':<12} {', '.join(POLICIES.names())}, or package.module:Name")
    complete = True
    for name in BENCHMARKS.names():
        ready, line = _benchmark(name)
        complete &= ready
        print(f"{name:<12} {line}")
    return 0 if complete else 1


def _benchmark(name: str) -> tuple[bool, str]:
    """Whether a benchmark can run here, tried in a worker; and what renders, or what is missing."""
    benchmark = BENCHMARKS.load(name)
    try:
        benchmark.check_requirements()
        task = benchmark.catalogue()[0]
        if task.env.renderer is None:
            return True, "ready"
        pool = ProcessPool(1, time_limit_s=60)
        try:
            return True, f"ready, renders with {pool.choose_renderer(task)}"
        finally:
            pool.close()
    except SetupError as error:
        return False, f"not ready: {error}"
