"""``yardarm setup``: give a world an interpreter of its own, or list which worlds are usable here."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import read_flags, refuse_unknown, switch
from yardarm.envs import WorldVenv, interpreter_for, open_trial, remove_world, set_up_world
from yardarm.errors import SetupError, UsageError
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]

FLAGS = ("remove", "help")
HELP = """\
Install a world into an environment of its own, check that it renders, and use it from then on: `--env.type=WORLD`
takes this interpreter if it has the world's packages in versions that fit, and else the one that was set up.

usage: yardarm setup [WORLD] [--remove]

  WORLD     the world to set up; without one, list all worlds and which interpreter runs them
  --remove  delete the world's environment

Environments are in ~/.local/share/yardarm/worlds; YARDARM_HOME, or XDG_DATA_HOME, names another place."""


def run(words: Sequence[str]) -> int:
    """Set a world up or remove it; without a world, list all."""
    plain, flags = read_flags(words, switches=("remove",))
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, FLAGS, "setup")
    if len(plain) > 1:
        raise UsageError(f"yardarm setup takes one world, got {' '.join(plain)}")
    if not plain:
        if switch(flags, "remove"):
            raise UsageError("--remove needs a world: yardarm setup WORLD --remove")
        _list()
    elif switch(flags, "remove"):
        print(f"removed {remove_world(BENCHMARKS.load(plain[0])).folder}")
    else:
        _set_up(plain[0])
    return 0


def _set_up(world: str) -> None:
    benchmark = BENCHMARKS.load(world)

    def say(text: str) -> None:
        print(f"{world}: {text}", flush=True)

    try:
        benchmark.check_requirements()
    except SetupError:
        renderer = set_up_world(benchmark, say)
        whose = f"--env.type={world} uses {WorldVenv.of(benchmark).python}"
    else:
        say("this interpreter has all packages; trying it out")
        with open_trial(benchmark, "") as trial:
            renderer = trial.draw()
        whose = "there is nothing to set up"
    say(f"ready{f', renders with {renderer}' if renderer else ''}; {whose}")


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
            return f"usable, by {python}"
        fault = WorldVenv.of(benchmark).fault()
        return f"not usable ({fault}): {missing}"
    return "usable, by this interpreter"
