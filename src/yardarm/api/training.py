"""Train a policy on a dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yardarm.api.functions import api_function, options_of
from yardarm.api.results import Shown
from yardarm.api.sources import Tasks, benchmarks_of
from yardarm.api.watching import shows_progress
from yardarm.config import fitted, read_config_file
from yardarm.errors import UsageError
from yardarm.hub import HUB_ID
from yardarm.policies import ARCHITECTURES, OptimizerOptions, PeftOptions, SchedulerOptions
from yardarm.tracking import WandbOptions
from yardarm.training import (
    TrainConfig,
    TrainDatasetOptions,
    TrainEvalOptions,
    TrainingListener,
    TrainingResult,
    TrainOptions,
    check_same,
    find_checkpoint_to_resume,
    push_trained,
)
from yardarm.training import train as run_training

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from yardarm.api.recording import FinishedRecording
    from yardarm.report import Sheet

__all__ = ["FinishedTraining", "train"]

# The most rows of a learning curve that are printed.
MOST_ROWS = 10


class FinishedTraining(Shown, TrainingResult):
    """A training: the trained `policy`, the folder `path` that has everything, and the `points` of its curve."""

    __slots__ = ()

    @property
    def last_checkpoint(self) -> Path | None:
        """The newest checkpoint: the policy, and what the training needs to continue."""
        return self.checkpoint

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """The finished evaluations, by step, with successes, rate and interval."""
        own = {point["step"]: point for point in self.points if point["kind"] == "evaluation"}
        return [point for point in own.values() if point["status"] == "finished"]

    def to_pandas(self) -> DataFrame:
        """A row per point of the learning curve: losses, evaluations, checkpoints."""
        from yardarm.report import curve_frame

        return curve_frame(self.points)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The loss by step, and the success rates of the evaluations, on new axes or on `ax`."""
        from yardarm.report import draw_curve

        return draw_curve(self.points, ax)

    def _sheet(self) -> Sheet:
        from yardarm.report import training_sheet

        sheet = training_sheet(self.points, MOST_ROWS)
        policy = f"Policy: {self.policy}" if self.checkpoint else "No policy was saved (save_checkpoint=False)."
        return sheet.followed_by(policy, f"Training: {self.path}")


@api_function(TrainOptions)
def train(
    policy: str | Path | Mapping[str, Any],
    dataset: str | Path | FinishedRecording | Mapping[str, Any],
    *,
    tasks: Tasks | None = None,
    benchmark: str = "metaworld",
    eval: Mapping[str, Any] | None = None,
    output_dir: str | Path | None = None,
    optimizer: Mapping[str, Any] | None = None,
    scheduler: Mapping[str, Any] | None = None,
    peft: PeftOptions | None = None,
    wandb: WandbOptions | None = None,
    trust_remote_code: bool = False,
    resume: bool = False,
    progress: bool | None = None,
    listener: TrainingListener | None = None,
    **options: Any,
) -> FinishedTraining:
    """Train a policy on a dataset.

        training = yardarm.train("act", "data/reach", steps=5000, tasks="reach-v3", eval_freq=1000)
        run = yardarm.evaluate(training.policy, "reach-v3")

    `policy` is the type of a new one ("act", "diffusion", "package.module:NAME"), or a checkpoint to fine-tune (its
    folder, or its Hub id). To set fields of its configuration, give a mapping:
    ``{"type": "act", "chunk_size": 16, "n_action_steps": 8}`` or ``{"path": "…", …}``.

    `dataset` is a folder, a Hub id, what `record` returned, or a mapping of the ``--dataset.`` flags:
    ``{"root": "data/reach", "episodes": [0, 1, 2]}``.

    With `tasks` (as in `evaluate`, of `benchmark`) the policy is evaluated while it trains, every `eval_freq` steps;
    `eval` has the options of these evaluations: ``{"n_episodes": 20}``.

    `optimizer` and `scheduler` change the policy's own presets: ``{"lr": 3e-4}``. `peft` fine-tunes with an adapter.

    Interrupting it finishes the step and writes a checkpoint; the same call with that `output_dir` and ``resume=True``
    continues as if nothing had happened.

    The answer prints as a table; `plot()` draws the learning curve, `to_pandas()` has its points.

    `progress` shows a progress bar; by default on a terminal and in a notebook. A `listener` hears of everything
    instead.
    """
    (chosen,) = options_of("train", {**options, "output_dir": output_dir, "resume": resume}, TrainOptions)
    envs = benchmarks_of(tasks, benchmark) if tasks is not None else []
    if len(envs) > 1:
        raise UsageError("tasks: a training is evaluated on one benchmark, with any number of its tasks")
    (measured,) = options_of("eval", _mapping("eval", eval), TrainEvalOptions)
    config = TrainConfig(
        dataset=_dataset(dataset),
        policy=_policy(policy),
        options=chosen,
        env=envs[0] if envs else None,
        eval=measured,
        optimizer=_changes("optimizer", optimizer, OptimizerOptions),
        scheduler=_changes("scheduler", scheduler, SchedulerOptions),
        peft=fitted("peft", PeftOptions | None, peft),
        wandb=fitted("wandb", WandbOptions, wandb or WandbOptions()),
        trust_remote_code=fitted("trust_remote_code", bool, trust_remote_code),
    )
    with _listener(progress, listener) as heard:
        result = run_training(config, heard, _checkpoint(config) if resume else None)
    if not result.finished:
        raise KeyboardInterrupt(_hint(result))
    if config.pushes:
        push_trained(result, config)
    return FinishedTraining.of(result)


def _policy(policy: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(policy, Mapping):
        return dict(policy)
    name = str(fitted("policy", str | Path | Mapping, policy))
    is_type = isinstance(policy, str) and (name in ARCHITECTURES.names() or (":" in name and "/" not in name))
    is_path = isinstance(policy, Path) or "/" in name or Path(name).expanduser().is_dir()
    return {"path": name} if is_path and not is_type else {"type": name}


def _dataset(dataset: Any) -> TrainDatasetOptions:
    if not isinstance(dataset, Mapping):
        given = dataset if isinstance(dataset, str | Path) else getattr(dataset, "root", dataset)
        place = fitted("dataset", str | Path | Mapping, given)
        is_name = isinstance(place, str) and HUB_ID.fullmatch(place) and not Path(place).expanduser().exists()
        dataset = {"repo_id": place} if is_name else {"root": Path(place).expanduser()}
    (chosen,) = options_of("dataset", dataset, TrainDatasetOptions)
    return chosen


def _changes(name: str, given: Mapping[str, Any] | None, kind: type) -> dict[str, Any]:
    """What differs from a preset, checked."""
    changes = _mapping(name, given)
    (checked,) = options_of(name, changes, kind)
    return {key: getattr(checked, key) for key in changes}


def _mapping(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    return fitted(name, Mapping | None, given) or {}


def _checkpoint(config: TrainConfig) -> Any:
    """The newest checkpoint of the training in `output_dir`, if the configuration is still the same one."""
    path = config.options.output_dir
    if path is None:
        raise UsageError("resume=True needs the training's folder: add output_dir=…")
    checkpoint = find_checkpoint_to_resume(path)
    check_same(config, read_config_file(checkpoint.config))
    return checkpoint


@contextlib.contextmanager
def _listener(progress: bool | None, listener: TrainingListener | None) -> Iterator[TrainingListener]:
    """Who hears of the training; an interruption stops it after its step."""
    from rich.console import Console

    from yardarm.displays import TrainingDisplay, open_console, open_training_display, stop_after_step

    if listener is not None and not shows_progress(progress, listener):
        yield listener  # which says itself when to stop
    elif shows_progress(progress):
        with open_training_display(open_console()) as display, stop_after_step(display):
            yield display
    else:
        silent = TrainingDisplay(Console(quiet=True))
        with stop_after_step(silent):
            yield silent


def _hint(result: TrainingResult) -> str:
    if result.checkpoint is None:
        return f"stopped after step {result.step}; nothing was saved (save_checkpoint=False)"
    return (
        f"stopped after step {result.step}, which is saved; the same call with output_dir={str(result.path)!r} and "
        "resume=True continues from there"
    )
