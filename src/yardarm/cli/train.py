"""``yardarm train``: make a policy from demonstrations."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from yardarm.cli.flags import Flags, describe, listed, nested, read_flags, switch
from yardarm.cli.live_view import LiveView
from yardarm.cli.training_display import open_training_display, stopping_politely
from yardarm.errors import UsageError
from yardarm.evaluation import read_config_file
from yardarm.policies import CHECKPOINT_TYPES, OptimizerOptions, PeftOptions, SchedulerOptions
from yardarm.tasks import BENCHMARKS
from yardarm.tracking import WandbOptions
from yardarm.training import (
    Checkpoint,
    DatasetOptions,
    TrainConfig,
    TrainEvalOptions,
    TrainingResult,
    TrainOptions,
    config_from_data,
    find_checkpoint_to_resume,
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
    """Read the flags, train, say where the policy is; exit code 130 if it was stopped."""
    plain, flags = read_flags(words)
    if "help" in flags:
        print(_help(flags.get("env.type", "metaworld")))
        return 0
    if plain:
        raise UsageError(f"yardarm train takes flags only, not '{plain[0]}'")
    watched = switch(flags, "view")
    flags = {name: value for name, value in flags.items() if name != "view"}
    config, checkpoint = read_config(flags)
    console = Console(highlight=False, markup=False, emoji=False)
    with LiveView(lambda line: console.print(line, soft_wrap=True), page="/training?training=.") as view:
        with open_training_display(console) as display, stopping_politely(display):
            display.on_start = view.open if watched else None
            result = train(config, display, checkpoint)
        if display.path is not None:  # of several processes, the first tells
            _show(result, config, console)
        if watched and console.is_terminal and result.finished:
            view.stay()
    return 0 if result.finished else 128 + (display.stopping or signal.SIGINT)


def read_config(flags: Flags) -> tuple[TrainConfig, Checkpoint | None]:
    """Flags over the file that ``--config_path`` names; with ``--resume``, over those that the training began with."""
    flags = dict(flags)
    path = flags.pop("config_path", None)
    if not switch(flags, "resume"):
        return config_from_data(nested(flags, read_config_file(Path(path)) if path else {})), None
    named = path or flags.get("output_dir")
    if named is None:
        raise UsageError("--resume=true needs to know what: add --config_path=…/train_config.json, or --output_dir=…")
    checkpoint = find_checkpoint_to_resume(Path(named))
    stored: dict[str, Any] = read_config_file(checkpoint.config)
    if path is not None and "output_dir" not in flags:
        stored["output_dir"] = None  # where the checkpoint is now
    _refuse_other_policy(flags)
    return config_from_data(nested(flags, stored)), checkpoint


def _refuse_other_policy(flags: Flags) -> None:
    for name in flags:
        if name.startswith(("policy.", "peft.")) and name != "policy.device":
            raise UsageError(
                f"--{name} cannot change in a training that goes on; to begin a new one from its weights, give "
                "--policy.path=…/pretrained_model without --resume"
            )


def _show(result: TrainingResult, config: TrainConfig, console: Console) -> None:
    """Say where everything is, and what comes next."""
    if not result.finished:
        words = ["yardarm", "train", "--resume=true", f"--config_path={result.path}"]
        print(f"\nyardarm: stopped after step {result.step}; go on with\n  {shlex.join(words)}", file=sys.stderr)
        return
    console.print(f"\nTraining: {result.path}", soft_wrap=True)
    if result.checkpoint is None:
        return
    policy = result.checkpoint / "pretrained_model"
    console.print(f"Policy: {policy}", soft_wrap=True)
    task = (
        [f"--env.type={config.env.name}", f"--env.task={config.env.task}"] if config.env else ["--env.type=metaworld"]
    )
    evaluate = shlex.join(["yardarm", "eval", f"--policy.path={policy}", *task])
    console.print(f"Evaluate it: {evaluate}", soft_wrap=True)
    console.print(f"See its learning curve: {shlex.join(['yardarm', 'view', str(result.path)])}", soft_wrap=True)


def _help(benchmark: str) -> str:
    env = BENCHMARKS.load(benchmark)
    rows = [
        ("--policy.type", "", f"a new policy: {', '.join(CHECKPOINT_TYPES)}"),
        ("--policy.path", "", "instead: a checkpoint to fine-tune, a folder or a Hub id (owner/name)"),
        ("--policy.NAME", "", "any field of its config.json, e.g. --policy.chunk_size=50, --policy.device=cuda"),
        ("--policy.repo_id", "", "upload the trained policy to the Hub as owner/name"),
        *describe(DatasetOptions, "dataset."),
        *describe(TrainOptions),
        *describe(OptimizerOptions, "optimizer."),
        *describe(SchedulerOptions, "scheduler."),
        ("--env.type", "", f"evaluate while training: {', '.join(BENCHMARKS.names())}; with --help: its flags"),
        *describe(env, "env."),
        *describe(TrainEvalOptions, "eval."),
        *describe(PeftOptions, "peft."),
        *describe(WandbOptions, "wandb."),
        ("--view", "False", "open the learning curve in a browser, and watch it live"),
        ("--config_path", "", "a file with these options; with --resume: a checkpoint's train_config.json"),
    ]
    return (
        "Train a policy on a dataset. Press Ctrl-C at any time: the step is finished, a checkpoint is written, and "
        "the\ncommand that is shown goes on from there, bit for bit as if nothing had happened.\n\n"
        "usage: yardarm train --policy.type=…|--policy.path=… --dataset.root=…|--dataset.repo_id=… "
        "[--flag=value …]\n\n" + listed(rows) + f"\n\nexamples:\n{EXAMPLES}\n\n"
        "exit code: 0 trained to the last step, 1 it failed, 2 a mistake in the command, 130 Ctrl-C, 143 SIGTERM"
    )
