"""What is decided before the first step: the folder, the threads, and whether the evaluations can work at all."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import logging
from collections.abc import Iterator
from pathlib import Path

import torch

from yardarm.envs import check_installed, select_tasks
from yardarm.errors import UsageError
from yardarm.evaluation import check_policy_fits
from yardarm.files import sweep
from yardarm.machine import usable_cores
from yardarm.policies.learning import LearnedPolicy, choose_device
from yardarm.results import TrainingFolder
from yardarm.training.checkpoints import Checkpoint, has_checkpoints
from yardarm.training.config import TrainConfig
from yardarm.training.state import threads_of

__all__ = [
    "check_evaluation",
    "choose_threads",
    "eval_cores",
    "eval_device",
    "nothing_left_behind",
    "open_folder",
    "settled",
    "threads",
]

logger = logging.getLogger(__name__)

DEFAULT_ROOT = Path("outputs/train")


def settled(config: TrainConfig) -> TrainConfig:
    """With what depends on the machine decided, so that the training's record says it."""
    if config.eval.background is not None:
        return config
    several = usable_cores() > 1 or torch.cuda.device_count() > 1
    return dataclasses.replace(config, eval=dataclasses.replace(config.eval, background=several))


def check_evaluation(config: TrainConfig, policy: LearnedPolicy) -> None:
    """What would fail at the first evaluation, after hours, fails now."""
    if config.evaluates:
        assert config.env is not None
        check_installed(config.env)
        tasks = select_tasks((config.env,), config.trust_remote_code)
        seen = policy.cameras
        policy.prepare(tasks)
        # What an evaluation could do about another size does not help here.
        traits = dataclasses.replace(policy.traits, resize_hint="train on images of the environment's size")
        check_policy_fits(policy, traits, tasks)
        policy.see_with(seen)  # the data may show more than the tasks
        choose_device(eval_device(config, policy.placement.device))


def open_folder(config: TrainConfig, checkpoint: Checkpoint | None, first: bool) -> TrainingFolder:
    """A new folder; or that of the checkpoint, unless another is named. Of several processes the first makes it."""
    if checkpoint is not None:
        if config.options.steps < checkpoint.step:
            raise UsageError(f"--steps={config.options.steps}: {checkpoint.path} is beyond that already")
        folder = TrainingFolder(checkpoint.path.parent.parent)
        if first:
            sweep(folder.path)
        return folder
    if not first:
        return TrainingFolder(config.options.output_dir or DEFAULT_ROOT)
    path = config.options.output_dir
    if path is None:
        started = dt.datetime.now()
        path = DEFAULT_ROOT / f"{started:%Y-%m-%d}" / f"{started:%H-%M-%S}_{config.name}"
    if path.exists() and not _can_be_started(path):
        raise UsageError(
            f"--output_dir={path} exists already; resume it with --resume=true, or choose another --output_dir"
        )
    return _made(path)


def _can_be_started(path: Path) -> bool:
    """Whether a folder is empty, or of a training that was killed before its first checkpoint."""
    if not path.is_dir():
        return False
    return not any(path.iterdir()) or (TrainingFolder(path).manifest.exists() and not has_checkpoints(path))


def _made(path: Path) -> TrainingFolder:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output_dir={path} cannot be made: {error.strerror}") from error
    return TrainingFolder(path)


@contextlib.contextmanager
def nothing_left_behind(folder: TrainingFolder) -> Iterator[None]:
    """Remove the folder of a new training that ends before its first step: there is nothing in it to resume."""
    try:
        yield
    except BaseException:
        learned = folder.journal.exists() and folder.journal.stat().st_size
        if not learned and (not folder.manifest.exists() or not folder.read_manifest().step):
            for file in (folder.manifest, folder.journal):
                file.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it holds files of others
                folder.path.rmdir()
                if folder.path.parent.parent == DEFAULT_ROOT:  # the folder of the day
                    folder.path.parent.rmdir()
        raise


def eval_cores(config: TrainConfig) -> int:
    """How many cores evaluations in the background have."""
    return min(config.eval.cores or max(1, usable_cores() // 4), usable_cores())


def eval_device(config: TrainConfig, device: torch.device) -> str:
    """Where weights are evaluated: on the last GPU, if there are several; training uses the first."""
    last = f"cuda:{torch.cuda.device_count() - 1}"
    return config.eval.device or (last if device.type == "cuda" else device.type)


def choose_threads(config: TrainConfig, checkpoint: Checkpoint | None) -> int:
    """Sums depend on how many threads share them, in the last bits: a training keeps the number it started with."""
    count = config.options.threads
    if checkpoint is not None:
        before = threads_of(checkpoint)
        if count and before and count != before:
            logger.warning("the training had %d threads before, so its weights will differ in the last bits", before)
        count = count or before or 0
    beside = eval_cores(config) if config.evaluates and config.eval.background else 0
    return count or max(1, usable_cores() - beside)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Have torch use this many, for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
