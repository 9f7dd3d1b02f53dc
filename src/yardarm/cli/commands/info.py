"""``yardarm info``: versions, cores, renderer, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from yardarm.envs import check_installed, interpreter_for, open_trial
from yardarm.errors import UsageError
from yardarm.machine import cpu_model, total_memory_gb, usable_cores, versions
from yardarm.policies import ARCHITECTURES, POLICIES
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]


def run(words: Sequence[str]) -> int:
    """Print what this machine has; exit code 1 if an installed benchmark cannot run."""
    if words:
        if words[0] not in ("-h", "--help"):
            raise UsageError(f"yardarm info takes no arguments, got '{words[0]}'")
        print("Show versions, cores and renderers, and how to install what is missing.\n\nusage: yardarm info")
        return 0
    for package, version in versions().items():
        print(f"{package:<22}{version or 'not installed'}")
    print(f"{'processor':<22}{cpu_model()}, {usable_cores()} usable core(s), {total_memory_gb()} GB of memory")
    print(f"{'policies':<22}{', '.join(POLICIES.names())}, or package.module:Name")
    print(f"{'checkpoints':<22}{', '.join(ARCHITECTURES.names())}")
    broken = False
    names = BENCHMARKS.names()
    with ThreadPoolExecutor(usable_cores()) as tries:  # each starts a simulator, in a process of its own
        for name, (works, line) in zip(names, tries.map(_benchmark, names), strict=True):
            broken |= not works
            print(f"{name:<22}{line}")
    return 1 if broken else 0


def _benchmark(name: str) -> tuple[bool, str]:
    """Whether a benchmark runs here, tried in a worker; and its renderer, or what is missing."""
    try:
        benchmark = BENCHMARKS.load(name)
        python = interpreter_for(benchmark)
        if not python and not benchmark.is_installed():
            return True, f"not installed; run: {benchmark.how_to_install()}"
        check_installed(benchmark)
        with open_trial(benchmark, python) as trial:
            renderer = trial.draw()
    except UsageError as error:
        return False, f"not ready: {error}"
    state = "ready" if trial.task else "installed"
    return True, ", ".join(
        filter(None, (state, renderer and f"renders with {renderer}", python and f"runs in {python}"))
    )
