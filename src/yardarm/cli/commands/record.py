"""``yardarm record``: record demonstrations as a dataset."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console

from yardarm.cli.commands.eval import shortened
from yardarm.cli.displays.resuming import say_how_to_continue
from yardarm.cli.flags import Flags, describe, listed
from yardarm.cli.robot_recording import is_for_robots
from yardarm.cli.robot_recording import run as record_on_robot
from yardarm.cli.sections import gather, read_only_flags, shown_benchmark
from yardarm.displays import RecordingDisplay, open_display
from yardarm.errors import PolicyFault, StorageFault, UsageError
from yardarm.evaluation import EvalConfig, EvaluationListener
from yardarm.recording import (
    MOST_TRIES,
    PASSED_ON,
    RecordConfig,
    RecordDatasetOptions,
    RecordedDataset,
    Recording,
    RecordOptions,
    record,
)
from yardarm.results import RunResult
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]

EXAMPLES = """\
  yardarm record --policy.type=expert --env.type=metaworld --env.task=reach-v3 --n_episodes=100 --only_successes=true \\
    --dataset.root=data/reach --dataset.image_size=96
  yardarm record --policy.type=expert --env.type=metaworld --env.task=mt10 --dataset.features=states \\
    --dataset.root=data/mt10_states   (renders nothing)"""


def run(words: Sequence[str]) -> int:
    """Play episodes and record them; exit code 1 if there are fewer than requested."""
    if is_for_robots(words):
        return record_on_robot(words)
    flags = read_only_flags(words, "record", _help)
    if flags is None:
        return 0
    config = RecordConfig.from_data(gather(flags))
    for note in [note for env in config.evaluation.envs for note in env.notes()]:
        print(f"yardarm: warning: {note}", file=sys.stderr)
    console = Console(highlight=False, markup=False, emoji=False)
    return _exit_code(record(config, _CommandDisplay(console, config, flags)), config)


def _exit_code(recording: Recording, config: RecordConfig) -> int:
    dataset = recording.dataset
    errors = recording.run.counts.errors and not config.options.only_successes
    return 1 if recording.too_few or errors or dataset is None or dataset.skipped else 0


class _CommandDisplay(RecordingDisplay):
    """Shows the evaluation, too, and what is missing after it."""

    def __init__(self, console: Console, config: RecordConfig, flags: Flags) -> None:
        super().__init__(console, partial(say_how_to_continue, "record", flags))
        self._wanted = config.options.n_episodes
        self._run: RunResult | None = None

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[EvaluationListener]:
        """Show the evaluation; after an interruption, say how to continue."""
        try:
            with open_display(self.console) as display:
                yield display
        except PolicyFault as fault:
            raise shortened(fault, display.path) from fault
        except (UsageError, StorageFault):
            raise  # nothing has started yet, or the same command would fail again
        except BaseException:
            self._stopped(display.path, "finished episodes are kept")
            raise

    def played(self, result: RunResult, too_few: Mapping[str, int]) -> None:
        """Say which episodes are missing."""
        self._run = result
        if too_few:
            listed = ", ".join(f"{name} {count}" for name, count in list(too_few.items())[:5])
            limit = f"{MOST_TRIES * self._wanted} episodes per task, which is the limit"
            print(
                f"yardarm: fewer than {self._wanted} successes in {limit}: {listed}{', …' if len(too_few) > 5 else ''}",
                file=sys.stderr,
            )
        if result.counts.errors:
            print(
                f"yardarm: {result.counts.errors} episodes ended in errors and are not recorded; "
                f"{result.path / 'episodes.jsonl'} has their tracebacks, and the same command retries them",
                file=sys.stderr,
            )

    def written(self, dataset: RecordedDataset) -> None:
        """Say what there is now, and where its episodes were played."""
        super().written(dataset)
        assert self._run is not None
        self.console.print(f"Its episodes were played in: {self._run.path}", soft_wrap=True)


def _help(flags: Flags) -> str:
    env = shown_benchmark(flags)
    passed_on = [row for row in describe(EvalConfig) if row[0].removeprefix("--") in PASSED_ON]
    rows = [
        (
            "--policy.type",
            "",
            "the policy that plays: expert, random, or package.module:Name with options --policy.NAME=…",
        ),
        ("--policy.path", "", "instead of a type: a checkpoint, with the options listed by `yardarm eval --help`"),
        ("--policy=…, --env=…", "", "short for --policy.type=… (or --policy.path=…, if it is a path) and --env.type=…"),
        ("--env.type", "", f"the benchmark: {', '.join(BENCHMARKS.names())}; add --help to list its flags"),
        *describe(env, "env."),
        *describe(RecordOptions),
        *describe(RecordDatasetOptions, "dataset."),
        *passed_on,
        ("--config_path", "", "a YAML or JSON file with these options"),
    ]
    return (
        "Record demonstrations as a dataset in LeRobot's format. With --robot.type=…, a person moves an arm: `yardarm "
        "record\n--robot.type=so101_follower --help` explains that. In simulation, episodes are first played without "
        "rendering; those to\nkeep are then replayed from their actions on all cores, and every step is rendered. You "
        "can press Ctrl-C at any time:\nthe same command resumes where it stopped.\n\n"
        "usage: yardarm record --policy.type=… --env.type=… --dataset.root=… [--flag=value …]\n\n"
        + listed(rows)
        + f"\n\nexamples:\n{EXAMPLES}\n\n"
        "exit code: 0 everything is recorded, 1 some episodes are missing, 2 invalid command, 130 Ctrl-C, 143 SIGTERM"
    )
