"""``yardarm setup``: install a benchmark into its own Python environment, or list which benchmarks run here."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import read_flags, refuse_unknown, switch
from yardarm.envs import WorldVenv, interpreter_for, open_trial, remove_world, set_up_world
from yardarm.errors import SetupError, UsageError
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]

FLAGS = ("remove", "help")
HELP = """\
Install a benchmark into its own Python environment and check that it renders. From then on `--env.type=BENCHMARK` uses
it, unless the current interpreter has the benchmark's packages in compatible versions.

usage: yardarm setup [BENCHMARK] [--remove]

  BENCHMARK  the benchmark to install [list all benchmarks, and the interpreter that runs each]
  --remove   delete the benchmark's environment

Environments are in ~/.local/share/yardarm/worlds; YARDARM_HOME or XDG_DATA_HOME changes that."""


def run(words: Sequence[str]) -> int:
    """Set up or remove a benchmark; without a name, list all."""
    plain, flags = read_flags(words, switches=("remove",))
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, FLAGS, "setup")
    if len(plain) > 1:
        raise UsageError(f"yardarm setup takes one benchmark, got {' '.join(plain)}")
    if not plain:
        if switch(flags, "remove"):
            raise UsageError("--remove needs a benchmark: yardarm setup BENCHMARK --remove")
        _list()
    elif switch(flags, "remove"):
        print(f"removed {remove_world(BENCHMARKS.load(plain[0])).folder}")
    else:
        _set_up(plain[0])
    return 0


def _set_up(name: str) -> None:
    benchmark = BENCHMARKS.load(name)

    def say(text: str) -> None:
        print(f"{name}: {text}", flush=True)

    try:
        benchmark.check_requirements()
    except SetupError:
        renderer = set_up_world(benchmark, say)
        outcome = f"--env.type={name} uses {WorldVenv.of(benchmark).python}"
    else:
        say("this interpreter has all packages; testing it")
        with open_trial(benchmark, "") as trial:
            renderer = trial.draw()
        outcome = "nothing to install"
    say(f"ready{f', renders with {renderer}' if renderer else ''}; {outcome}")


def _list() -> None:
    width = max(map(len, BENCHMARKS.names()))
    for name in BENCHMARKS.names():
        print(f"{name:<{width}}  {_state(name)}")


def _state(name: str) -> str:
    benchmark = BENCHMARKS.load(name)
    try:
        benchmark.check_requirements()
    except SetupError as missing:
        if python := interpreter_for(benchmark):
            return f"ready, runs in {python}"
        fault = WorldVenv.of(benchmark).fault()
        return f"not ready ({fault}): {missing}"
    return "ready, runs in this interpreter"
