"""``yardarm train``: train a policy on a dataset."""

from __future__ import annotations

import dataclasses
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from yardarm.cli.displays.live_view import LiveView
from yardarm.cli.flags import Flags, describe, listed, switch, text
from yardarm.cli.lerobot.train_file import is_lerobots, own_options
from yardarm.cli.sections import gather, nested, read_only_flags, shown_benchmark
from yardarm.config import read_config_file
from yardarm.displays import open_training_display, stop_after_step
from yardarm.errors import UsageError
from yardarm.policies import ARCHITECTURES, OptimizerOptions, PeftOptions, SchedulerOptions
from yardarm.tasks import BENCHMARKS, BenchmarkConfig
from yardarm.tracking import WandbOptions
from yardarm.training import (
    Checkpoint,
    TrainConfig,
    TrainDatasetOptions,
    TrainEvalOptions,
    TrainingResult,
    TrainOptions,
    check_resumed,
    config_from_data,
    find_checkpoint_to_resume,
    push_trained,
    train,
)

__all__ = ["run"]

EXAMPLES = """\
  yardarm train --policy.type=act --dataset.root=data/reach --steps=20000 --output_dir=outputs/train/reach
  yardarm train --policy.type=act --dataset.root=data/mt10_states --task_vector=mt10 \\
    --env.type=metaworld --env.task=mt10 --eval_freq=5000 --eval.n_episodes=20   (evaluates while it trains)
  yardarm train --policy.path=outputs/train/reach/checkpoints/last/pretrained_model --dataset.root=data/push \\
    --peft.method_type=LORA --peft.r=16   (fine-tunes with adapters)
  yardarm train --resume=true --config_path=outputs/train/reach/checkpoints/last/pretrained_model/train_config.json"""


def run(words: Sequence[str]) -> int:
    """Read the flags, train, print where the policy is; exit code 130 after Ctrl-C."""
    flags = read_only_flags(words, "train", _help)
    if flags is None:
        return 0
    watched = switch(flags, "view")
    flags = {name: value for name, value in flags.items() if name != "view"}
    config, checkpoint = read_config(flags)
    console = Console(highlight=False, markup=False, emoji=False)
    with LiveView(lambda line: console.print(line, soft_wrap=True), page="/training?training=.") as view:
        with open_training_display(console) as display, stop_after_step(display):
            display.on_start = view.open if watched else None
            result = train(config, display, checkpoint)
        if display.path is None:  # of several processes, only the first reports
            return 0 if result.finished else 128 + (display.stopping or signal.SIGINT)
        _show(result, config, console)
        if result.finished and config.pushes:
            console.print(f"On the Hub: {push_trained(result, config)}", soft_wrap=True)
        if watched and console.is_terminal and result.finished:
            view.stay()
    return 0 if result.finished else 128 + (display.stopping or signal.SIGINT)


def read_config(flags: Flags) -> tuple[TrainConfig, Checkpoint | None]:
    """The file of ``--config_path``, overridden by flags; with ``--resume``, the training's own configuration."""
    flags = dict(flags)
    trusted = switch(flags, "trust_remote_code")
    flags.pop("trust_remote_code", None)
    path, output_dir = text(flags, "config_path"), text(flags, "output_dir")
    if not switch(flags, "resume"):
        return config_from_data(gather(flags, _own_file), trusted), None
    flags.pop("config_path", None)
    named = path or output_dir
    if named is None:
        raise UsageError("--resume=true needs a training: add --config_path=…/train_config.json, or --output_dir=…")
    checkpoint = find_checkpoint_to_resume(Path(named))
    stored: dict[str, Any] = read_config_file(checkpoint.config)
    if is_lerobots(stored):
        raise UsageError(
            f"{checkpoint.path} is of a training with LeRobot, which only LeRobot resumes; to go on from its weights, "
            f"give --policy.path={checkpoint.policy} without --resume"
        )
    own = checkpoint.path.parent.parent
    if output_dir is not None and Path(output_dir).expanduser().resolve() != own:
        raise UsageError(f"--output_dir={output_dir}: a training resumes in its own folder, {own}; omit --output_dir")
    check_resumed(flags, stored)
    return config_from_data(nested(flags, stored), trusted), checkpoint


def _own_file(data: dict[str, Any]) -> dict[str, Any]:
    return own_options(data) if is_lerobots(data) else data


def _show(result: TrainingResult, config: TrainConfig, console: Console) -> None:
    """Print where everything is, and what to do next."""
    if not result.finished:
        words = ["yardarm", "train", "--resume=true", f"--config_path={result.path}", *config.code_flags]
        kept = (
            f"resume with\n  {shlex.join(words)}"
            if result.checkpoint
            else "nothing was saved (--save_checkpoint=false)"
        )
        print(f"\nyardarm: stopped after step {result.step}; {kept}", file=sys.stderr)
        return
    console.print(f"\nTraining: {result.path}", soft_wrap=True)
    newest = {point["step"]: point["status"] for point in result.points if point["kind"] == "evaluation"}
    if failed := [step for step, status in newest.items() if status == "failed"]:
        again = shlex.join(["yardarm", "train", "--resume=true", f"--config_path={result.path}", *config.code_flags])
        print(f"yardarm: {len(failed)} evaluations failed; retry them with: {again}", file=sys.stderr)
    if result.checkpoint is None:
        return
    policy = result.policy
    console.print(f"Policy: {policy}", soft_wrap=True)
    evaluate = (
        f"{shlex.join(['yardarm', 'eval', f'--policy.path={policy}', *config.code_flags])} {_env_flags(config.env)}"
    )
    console.print(f"Evaluate it: {evaluate}", soft_wrap=True)
    console.print(f"View the learning curve: {shlex.join(['yardarm', 'view', str(result.path)])}", soft_wrap=True)


def _of_presets(rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [(name, "the policy's preset", text) for name, _, text in rows]


def _env_flags(env: BenchmarkConfig | None) -> str:
    """The flags of a benchmark that differ from its defaults."""
    if env is None:
        return "--env.type=…"
    changed = {
        field.name: getattr(env, field.name)
        for field in dataclasses.fields(env)
        if field.default is not dataclasses.MISSING and getattr(env, field.name) != field.default
    }
    return shlex.join([f"--env.type={env.name}", *(f"--env.{name}={value}" for name, value in changed.items())])


def _help(flags: Flags) -> str:
    env = shown_benchmark(flags)
    rows = [
        ("--policy.type", "", f"a new policy: {', '.join(ARCHITECTURES.names())}, or MODULE:NAME of your own"),
        ("--policy.path", "", "instead of a type: a checkpoint to fine-tune, a folder or a Hub id (owner/name)"),
        ("--policy.NAME", "", "any field of its config.json, e.g. --policy.chunk_size=50, --policy.device=cuda"),
        (
            "--policy.hub_dir",
            "",
            "a folder, laid out OWNER/NAME/…, where repositories that a policy names are looked for before the Hub",
        ),
        ("--policy=…, --env=…", "", "short for --policy.type=… (or --policy.path=…, if it is a path) and --env.type=…"),
        ("--policy.repo_id", "", "upload the trained policy to the Hub as owner/name"),
        *describe(TrainDatasetOptions, "dataset."),
        *describe(TrainOptions),
        *_of_presets(describe(OptimizerOptions, "optimizer.")),
        *_of_presets(describe(SchedulerOptions, "scheduler.")),
        (
            "--env.type",
            "",
            f"evaluate while training, on: {', '.join(BENCHMARKS.names())}; add --help to list its flags",
        ),
        *describe(env, "env."),
        *describe(TrainEvalOptions, "eval."),
        *describe(TrainConfig),
        *describe(PeftOptions, "peft."),
        *describe(WandbOptions, "wandb."),
        ("--view", "False", "show the learning curve live in the browser"),
        (
            "--config_path",
            "",
            "a YAML or JSON file with these options; with --resume: a training's folder, or its train_config.json",
        ),
    ]
    return (
        "Train a policy on a dataset. You can press Ctrl-C at any time: the current step finishes, a checkpoint is "
        "written, and\nthe command that is printed resumes from there, bit for bit as if nothing had happened.\n\n"
        "usage: yardarm train --policy.type=…|--policy.path=… --dataset.root=…|--dataset.repo_id=… "
        "[--flag=value …]\n\n" + listed(rows) + f"\n\nexamples:\n{EXAMPLES}\n\n"
        "exit code: 0 trained to the last step, 1 failed, 2 invalid command, 130 Ctrl-C, 143 SIGTERM"
    )
