"""``yardarm eval``: evaluate a policy."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from yardarm.cli.displays.live_view import LiveView
from yardarm.cli.displays.resuming import say_how_to_continue
from yardarm.cli.displays.several_policies import show_several
from yardarm.cli.flags import Flags, describe, listed, read_flags, switch
from yardarm.cli.sections import gather, read_only_flags, shown_benchmark
from yardarm.cluster import RayOptions
from yardarm.comparison import LerobotAssumptions, compare, read_runs
from yardarm.displays import open_display
from yardarm.errors import PolicyFault, StorageFault, UsageError
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, config_from_data, evaluate, evaluate_several
from yardarm.report import comparison_sheet, results_sheet
from yardarm.results import RunFolder, RunResult
from yardarm.tasks import BENCHMARKS
from yardarm.tracking import WandbOptions, tracked_text

if TYPE_CHECKING:
    from yardarm.recording import RecordingPlan

__all__ = ["run", "shortened"]

Result = TypeVar("Result")

EXAMPLES = """\
  yardarm eval --policy.type=expert --env.type=metaworld --env.task=medium --eval.n_episodes=10
  yardarm eval --policy.path=outputs/train/my_act/checkpoints/last --env.type=metaworld --env.task=easy
  yardarm eval --policy.path=outputs/train/my_act/checkpoints --env.type=metaworld --env.task=easy   (all checkpoints)
  yardarm eval --policy.type=my_package.my_module:MyPolicy --env.type=libero --env.task=libero_spatial,libero_goal
  yardarm eval --policy.type=remote --policy.url=ws://127.0.0.1:8000 --env.type=libero --env.task=libero_spatial
  yardarm eval --policy.type=expert --env.type=metaworld --env.task=easy --view   (watch it live in the browser)
  yardarm eval --config_path=outputs/eval/…/config.yaml --eval.n_episodes=100   (adds the missing episodes)"""


def run(words: Sequence[str]) -> int:
    """Read the flags, evaluate, show the results; exit code 1 if episodes ended in errors."""
    flags = read_only_flags(words, "eval", _help)
    if flags is None:
        return 0
    watched = switch(flags, "view")
    config = config_from_data(gather({name: value for name, value in flags.items() if name != "view"}))
    console = Console(highlight=False, markup=False, emoji=False)
    for note in [note for env in config.envs for note in env.notes()]:
        print(f"yardarm: warning: {note}", file=sys.stderr)
    if config.several:
        return _run_several(config, words, console, watched)
    if isinstance(config.against, Path):
        console.print(f"Will be compared with the run {config.against}", soft_wrap=True)
    recording = _recording_plan(config)
    with LiveView(lambda line: console.print(line, soft_wrap=True)) as view:
        result = _watched(partial(evaluate, config), words, console, view.open if watched else None)
        _show_all(result, config, console)
        code = _show_problems(result)
        if recording is not None:
            code |= _record(result, recording, console, flags)
        if watched and console.is_terminal:
            view.stay()
    return code


def _run_several(config: EvalConfig, words: Sequence[str], console: Console, watched: bool) -> int:
    """Evaluate several policies and show how they compare."""
    with LiveView(lambda line: console.print(line, soft_wrap=True), page="/") as view:
        results = _watched(partial(evaluate_several, config), words, console, view.open if watched else None)
        code = show_several(results, console)
        if watched and console.is_terminal:
            view.stay()
    return code


def _watched(
    work: Callable[[EvaluationListener], Result],
    words: Sequence[str],
    console: Console,
    on_start: Callable[[Path], None] | None,
) -> Result:
    """Evaluate with a progress display; if interrupted, say how to resume."""
    try:
        with open_display(console) as display:
            display.on_start = on_start
            return work(display)
    except PolicyFault as fault:
        raise shortened(fault, display.path) from fault
    except (UsageError, StorageFault):
        raise  # nothing has started yet, or the same command would fail again
    except BaseException:
        say_how_to_continue("eval", read_flags(words)[1], display.path, display.kept)
        raise


def _recording_plan(config: EvalConfig) -> RecordingPlan | None:
    """What --eval.recording will record, or None; refuses what cannot be recorded before any episode runs."""
    if not config.eval.recording:
        return None
    from yardarm.recording import plan_recording_of  # needs pyarrow, which is slow to import

    return plan_recording_of(config)


def _record(result: RunResult, plan: RecordingPlan, console: Console, flags: Flags) -> int:
    """Write the episodes as a dataset; returns the exit code."""
    from yardarm.displays import RecordingDisplay
    from yardarm.recording import record_run

    dataset = record_run(result, plan, RecordingDisplay(console, partial(say_how_to_continue, "eval", flags)))
    return 1 if dataset is None or dataset.skipped else 0


def _show_all(result: RunResult, config: EvalConfig, console: Console) -> None:
    _show(result, console)
    if config.wandb.enable and (tracked := tracked_text(RunFolder(result.path))):
        console.print(tracked, soft_wrap=True)
    if result.against is not None:
        _show_comparison(result, config, console)


def _show_comparison(result: RunResult, config: EvalConfig, console: Console) -> None:
    """Compare with the other run, unless this one stopped early: then its results already include the comparison."""
    assert result.against is not None
    console.print(f"Compared with: {result.against}", soft_wrap=True)
    if result.stopping is None:
        assumed = LerobotAssumptions(seed=config.seed)
        runs = read_runs([result.path, result.against], assumed, allow_unfinished=True)
        console.print()
        comparison_sheet(compare(runs, confidence=result.uncertainty.confidence)).print(console)


def _show(result: RunResult, console: Console) -> None:
    results_sheet(result).print(console)
    console.print(f"\nResults: {result.path}", soft_wrap=True)
    if RunFolder(result.path).report.exists():
        console.print(f"Report: {RunFolder(result.path).report}", soft_wrap=True)
    _show_how_to_watch(result, console)


def _show_problems(result: RunResult) -> int:
    """Print warnings and errors; return the exit code."""
    for warning in result.warnings:
        print(f"yardarm: warning: {warning}", file=sys.stderr)
    errors = result.counts.errors
    if errors:
        reason = next(record.error or "" for record in result.episodes if record.status == "error")
        print(f"yardarm: the first error: {(reason.strip().splitlines() or ['unknown'])[-1]}", file=sys.stderr)
        retry = f"the same command with --output_dir={result.path} retries them"
        print(
            f"yardarm: {errors} of {result.planned} episodes ended in errors, which count as neither success nor "
            f"failure; {result.path / 'episodes.jsonl'} has their tracebacks, and "
            f"{retry if result.stopping is None else 'they are not retried, because this run stops early'}",
            file=sys.stderr,
        )
    if result.errors_of_opponent:
        print(
            f"yardarm: {result.errors_of_opponent} episodes of the second policy ended in errors; "
            f"{result.against}/episodes.jsonl has their tracebacks",
            file=sys.stderr,
        )
    return 1 if errors or result.errors_of_opponent else 0


def _show_how_to_watch(result: RunResult, console: Console) -> None:
    """Print the command that renders the first episode that can be replayed."""
    several = len({task.task.benchmark for task in result.tasks}) > 1
    for task in (task for task in result.tasks if task.task.env.cameras and task.task.env.replayable):
        for record in [record for record in task.episodes if record.status != "error"][:1]:
            name = f"{record.key.benchmark}/{record.key.task}" if several else record.key.task
            words = ["yardarm", "replay", str(result.path), f"--task={name}", f"--episode={record.key.index}"]
            console.print(f"Watch any episode: {shlex.join(words)}", soft_wrap=True)
            view = shlex.join(["yardarm", "view", str(result.path)])
            console.print(f"Browse the results: {view}", soft_wrap=True)
            return


def shortened(fault: PolicyFault, path: Path | None) -> PolicyFault:
    """Print the policy's traceback, and return the fault as one line."""
    lines = str(fault).strip().splitlines()
    text = lines[0] if len(lines) == 1 else f"{lines[0].rstrip(':')}: {lines[-1]}"
    if fault.trace:
        print(fault.trace.rstrip(), file=sys.stderr)
    if path is None or not path.exists():  # nothing has started, or nothing was finished
        return PolicyFault(text)
    shown = f"; {RunFolder(path).policy_error} has the traceback" if RunFolder(path).policy_error.exists() else ""
    return PolicyFault(f"{text}{shown}; finished episodes are kept")


def _help(flags: Flags) -> str:
    env = shown_benchmark(flags)
    rows = [
        ("--policy.path", "", "a checkpoint in LeRobot's format: a folder, or a Hub id (owner/name)"),
        ("--policy.path=A,B,…", "", "several checkpoints, compared at the end; or one folder that contains them"),
        (
            "--policy.python",
            "",
            "for checkpoints of types that are not installed here: a Python with LeRobot, which runs them",
        ),
        ("--policy.device", "auto", "for checkpoints: the device; auto picks cuda, then mps, then cpu"),
        ("--policy.dtype", "float32", "for checkpoints: float32, bfloat16 or float16"),
        ("--policy.revision", "", "for checkpoints on the Hub: a branch, a tag or a commit"),
        (
            "--policy.hub_dir",
            "",
            "for checkpoints: a folder, laid out OWNER/NAME/…, where tokenizers and such are looked for before the Hub",
        ),
        ("--policy.self_test", "True", "for checkpoints: false loads one even if it answers otherwise than when saved"),
        ("--policy.resize_images", "False", "for checkpoints: resize images to the size used in training"),
        (
            "--policy.allow_missing_stats",
            "False",
            "for checkpoints: do not normalise features that have no statistics, instead of failing",
        ),
        ("--policy.NAME", "", "for checkpoints: any field of config.json, e.g. --policy.n_action_steps=50"),
        (
            "--policy.type",
            "",
            "instead of a path: expert, random, zero, mt10-act or metaworld-smolvla (learned), or package.module:Name "
            "with --policy.NAME=…",
        ),
        ("--policy.type=remote", "", "a policy on a server, with these options:"),
        ("--policy.url", "", "the server's address, ws://host:port"),
        ("--policy.protocol", "auto", "the server's protocol: auto, openpi or vla-eval"),
        (
            "--policy.replan",
            "0",
            "actions of a chunk to play before the next observation; 0: all, or the preset's number",
        ),
        ("--policy.observations, .actions", "", "what is sent, and how its actions are converted: docs/remote.md"),
        ("--policy.timeout_s", "300", "seconds to wait for an answer; after that the episode is run again"),
        ("--policy.patience_s", "300", "seconds to wait for a server that cannot be reached"),
        ("--policy.connections", "0", "the most episodes that run at once; 0: chosen for this machine"),
        ("--policy.check", "True", "false: accept a server that declares a different convention"),
        ("--policy.name", "", "the policy's name in the results [its address]"),
        ("--policy.api_key", "", "the server's API key; or set YARDARM_API_KEY in the environment"),
        ("--policy=…, --env=…", "", "short for --policy.type=… (or --policy.path=…, if it is a path) and --env.type=…"),
        ("--env.type", "", f"the benchmark: {', '.join(BENCHMARKS.names())}; add --help to list its flags"),
        *describe(env, "env."),
        *describe(EvalOptions, "eval."),
        *describe(WandbOptions, "wandb."),
        *describe(RayOptions, "ray."),
        *describe(EvalConfig),
        ("--view", "False", "show the run live in the browser"),
        ("--config_path", "", "a YAML or JSON file with these options, such as a run's config.yaml"),
    ]
    return (
        "Evaluate a policy in simulation. You can press Ctrl-C at any time: the same command with the same\n"
        "--output_dir, or with --resume=true, resumes where it stopped.\n\n"
        "usage: yardarm eval --policy.path=…|--policy.type=… --env.type=… [--flag=value …]\n\n"
        + listed(rows)
        + f"\n\nexamples:\n{EXAMPLES}\n\n"
        "exit code: 0 all episodes ran, 1 some ended in errors, 2 invalid command, 130 Ctrl-C, 143 SIGTERM"
    )
