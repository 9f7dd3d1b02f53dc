"""``yardarm record``: write demonstrations as a dataset."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from yardarm.cli.commands.eval import shortened
from yardarm.cli.displays.evaluation import open_display
from yardarm.cli.displays.recording import open_recording_display, say_how_to_continue, show_recording
from yardarm.cli.flags import Flags, describe, listed, nested, read_flags
from yardarm.errors import PolicyFault, StorageFault, UsageError
from yardarm.evaluation import EvalConfig
from yardarm.recording import (
    MOST_TRIES,
    PASSED_ON,
    Recipe,
    RecordConfig,
    RecordDatasetOptions,
    RecordOptions,
    Take,
    check_hub,
    check_policy,
    check_root,
    make_recipe,
    play_enough,
    push,
    record,
    takes_of,
    too_few,
)
from yardarm.results import RunFolder, RunResult
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]

EXAMPLES = """\
  yardarm record --policy.type=expert --env.type=metaworld --env.task=reach-v3 --n_episodes=100 --only_successes=true \\
    --dataset.root=data/reach --dataset.image_size=96
  yardarm record --policy.type=expert --env.type=metaworld --env.task=mt10 --dataset.features=states \\
    --dataset.root=data/mt10_states   (renders nothing)"""


def run(words: Sequence[str]) -> int:
    """Play episodes, record them; exit code 1 if there are fewer than were asked for."""
    plain, flags = read_flags(words)
    if "help" in flags:
        print(_help(flags.get("env.type", "metaworld")))
        return 0
    if plain:
        raise UsageError(f"yardarm record takes flags only, not '{plain[0]}'")
    config = RecordConfig.from_data(nested(flags, {}))
    console = Console(highlight=False, markup=False, emoji=False)
    for note in [note for env in config.evaluation.envs for note in env.notes()]:
        print(f"yardarm: warning: {note}", file=sys.stderr)
    target = config.dataset.target
    recipe = make_recipe(config.dataset, config.evaluation.envs, config.evaluation.trust_remote_code)
    check_root(target.root, recipe, config)
    check_hub(target)

    result = _play(config, console, flags)
    takes = takes_of(result, recipe, config.options.n_episodes if config.options.only_successes else None)
    code = _say_what_is_missing(config, result)
    if not takes:
        print(f"yardarm: there is nothing to record; the run is in {result.path}", file=sys.stderr)
        return 1
    flags["output_dir"] = str(result.path)
    code |= _record(config, takes, recipe, console, flags)
    console.print(f"Its episodes were played in: {result.path}", soft_wrap=True)
    if target.push:
        console.print(f"On the Hub: {push(target)}", soft_wrap=True)
    return code


def _play(config: RecordConfig, console: Console, flags: Flags) -> RunResult:
    """Play the episodes; nothing is rendered yet but what the policy looks at."""
    try:
        with open_display(console) as display:
            display.on_start = lambda path: check_policy(config.dataset.target.root, _policy_of(path))
            return play_enough(config, display)
    except PolicyFault as fault:
        raise shortened(fault, display.path) from fault
    except (UsageError, StorageFault):
        raise  # nothing has started yet, or it cannot go on like this
    except BaseException:
        if display.path is not None:
            say_how_to_continue("record", {**flags, "output_dir": str(display.path)}, "finished episodes are kept")
        raise


def _policy_of(run: Path) -> str:
    return str(RunFolder(run).read_manifest().plan.policy)


def _record(config: RecordConfig, takes: Sequence[Take], recipe: Recipe, console: Console, flags: Flags) -> int:
    """Play them again, and look."""
    try:
        with open_recording_display(console) as display:
            recording = record(takes, recipe, config.dataset.target.root, config.options.workers, display)
    except (UsageError, StorageFault):
        raise
    except BaseException:
        say_how_to_continue("record", flags, display.kept)
        raise
    return show_recording(recording, console)


def _say_what_is_missing(config: RecordConfig, result: RunResult) -> int:
    """Say which episodes there are not; returns the exit code."""
    wanted, errors = config.options.n_episodes, result.counts.errors
    short = too_few(result, wanted) if config.options.only_successes else {}
    if short:
        listed = ", ".join(f"{name} {count}" for name, count in list(short.items())[:5])
        print(
            f"yardarm: {MOST_TRIES * wanted} episodes of each task were played, and that is the most; there are fewer "
            f"than {wanted} successes of: {listed}{', …' if len(short) > 5 else ''}",
            file=sys.stderr,
        )
    if errors:
        print(
            f"yardarm: {errors} episodes ended in errors and are not recorded; {result.path / 'episodes.jsonl'} has "
            "their tracebacks, and the same command tries them again",
            file=sys.stderr,
        )
    return 1 if short or (errors and not config.options.only_successes) else 0


def _help(benchmark: str) -> str:
    env = BENCHMARKS.load(benchmark)
    passed_on = [row for row in describe(EvalConfig) if row[0].removeprefix("--") in PASSED_ON]
    rows = [
        ("--policy.type", "", "who plays: expert, random, or package.module:Name with options --policy.NAME=…"),
        ("--policy.path", "", "instead: a checkpoint, with all that `yardarm eval --help` says of it"),
        ("--env.type", "", f"the benchmark: {', '.join(BENCHMARKS.names())}; with --help: its flags"),
        *describe(env, "env."),
        *describe(RecordOptions),
        *describe(RecordDatasetOptions, "dataset."),
        *passed_on,
    ]
    return (
        "Record demonstrations as a dataset in LeRobot's format. Episodes are played first, without rendering; those "
        "that are\nwanted are then played again from their actions on all cores, and looked at in every step. Press "
        "Ctrl-C at any time:\nthe same command goes on where it stopped.\n\n"
        "usage: yardarm record --policy.type=… --env.type=… --dataset.root=… [--flag=value …]\n\n"
        + listed(rows)
        + f"\n\nexamples:\n{EXAMPLES}\n\n"
        "exit code: 0 all is recorded, 1 some episodes are missing, 2 a mistake in the command, 130 Ctrl-C, 143 SIGTERM"
    )
