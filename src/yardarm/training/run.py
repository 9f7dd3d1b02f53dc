"""A training from its configuration to a policy that works."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from yardarm.errors import UsageError
from yardarm.policies.learning import check_hub, load_policy
from yardarm.results import DatasetRecord, PolicyRecord, TrainingManifest
from yardarm.tracking import TrainingTracker, open_training_tracker
from yardarm.training.checkpoints import Checkpoint, set_aside
from yardarm.training.config import TrainConfig
from yardarm.training.config_file import config_to_data
from yardarm.training.data import Batches, Stream
from yardarm.training.devices import open_accelerator
from yardarm.training.evaluations import Evaluations
from yardarm.training.frozen import count_parameters
from yardarm.training.generators import seed_generators
from yardarm.training.learner import Learner, make_learner
from yardarm.training.listener import TrainingListener
from yardarm.training.log import TrainingLog
from yardarm.training.loop import Loop
from yardarm.training.preflight import look_at_data
from yardarm.training.samples import Preparation
from yardarm.training.setup import (
    check_evaluation,
    choose_threads,
    eval_cores,
    eval_device,
    nothing_left_behind,
    open_folder,
    settled,
    threads,
)
from yardarm.training.state import restore
from yardarm.training.trainer import Trainer
from yardarm.training.validation import Validation

__all__ = ["TrainingResult", "make_trainer", "push_trained", "train"]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Where a training is, how far it came, and its learning curve."""

    path: Path
    step: int
    finished: bool
    checkpoint: Path | None
    """The newest; None if nothing was saved."""
    points: tuple[dict[str, Any], ...]

    @property
    def policy(self) -> Path:
        """The newest policy, as `--policy.path` and `yardarm.evaluate` take it."""
        if self.checkpoint is None:
            raise UsageError(f"{self.path} has no policy: the training saved no checkpoint")
        return Checkpoint(self.checkpoint).policy


def train(
    config: TrainConfig, listener: TrainingListener | None = None, checkpoint: Checkpoint | None = None
) -> TrainingResult:
    """Train a policy; with a checkpoint, resume from there as if the training had never stopped."""
    listener = listener or TrainingListener()
    config = settled(config)
    if config.pushes:
        check_hub(str(config.policy["repo_id"]))
    tracker = open_training_tracker(config.wandb)
    listener.preparing("reading the dataset, making the policy")
    learner = make_learner(config, checkpoint)
    check_evaluation(config, learner.policy)
    accelerator = open_accelerator(learner.policy.config, config.options, learner.policy.placement.device)
    if accelerator.num_processes > 1 and config.evaluates and not config.eval.background:
        raise UsageError("--eval.background=false is for one process: the others would wait too long for the first")
    folder = open_folder(config, checkpoint, accelerator.is_main_process)
    is_new = checkpoint is None and accelerator.is_main_process
    if is_new and config.dataset.check and not config.dataset.streaming:
        listener.noticed(look_at_data(learner.data.meta, learner.split.training))
    with nothing_left_behind(folder) if is_new else nullcontext(), threads(choose_threads(config, checkpoint)):
        seed_generators(config.options.seed + accelerator.process_index)
        listener.preparing("loading the data")
        trainer = make_trainer(config, learner, accelerator)
        if checkpoint is not None:
            restore(trainer, checkpoint, accelerator.process_index)
        loop = Loop(config, trainer, _validation(config, learner), folder, listener, accelerator)
        loop.checkpoint = checkpoint
        if not accelerator.is_main_process:
            finished = loop.go()
            return TrainingResult(folder.path, trainer.step, finished, None, ())
        return _recorded(loop, learner, tracker)


def push_trained(result: TrainingResult, config: TrainConfig) -> str:
    """Upload the policy of the last checkpoint to the Hub, and return the address of the commit."""
    kind = config.policy.get("type")
    policy = load_policy(result.policy, type=kind, device="cpu", merge_adapter=False, **config.loading)
    return policy.push_to_hub(str(config.policy["repo_id"]), private=config.policy.get("private"))


def _recorded(loop: Loop, learner: Learner, tracker: TrainingTracker) -> TrainingResult:
    """Run the loop, with everything that is written, evaluated and tracked."""
    config, trainer, folder, listener = loop.config, loop.trainer, loop.folder, loop.listener
    if loop.checkpoint is not None and loop.checkpoint.path.parent == folder.checkpoints:
        set_aside(folder, trainer.step)
    loop.log = log = TrainingLog(folder, _about(config, learner, trainer.step), tracker)
    if config.evaluates:
        loop.evaluations = _evaluations(loop)
        loop.evaluations.take_up(log.curve.points, trainer.step)
    finished = False
    try:
        listener.started(folder.path, trainer.step, config.options.steps, _summary(learner, loop.accelerator))
        finished = loop.go()
    finally:
        if loop.evaluations is not None:
            loop.evaluations.stop()
        newest = loop.checkpoint.path if loop.checkpoint else None
        log.close(finished, newest)
    return TrainingResult(folder.path, trainer.step, finished, newest, tuple(log.curve.points))


def _evaluations(loop: Loop) -> Evaluations:
    config = loop.config
    workers = eval_cores(config) if config.eval.background else 0
    device = eval_device(config, loop.trainer.policy.placement.device)
    return Evaluations(config, loop.folder, device, workers, loop.tell)


def make_trainer(config: TrainConfig, learner: Learner, accelerator: Any) -> Trainer:
    """Everything that learns, at its first step."""
    options, data, policy = config.options, learner.data, learner.policy
    shard = (accelerator.process_index, accelerator.num_processes)
    batches: Batches | Stream
    if config.dataset.streaming:
        frames = sum(data.meta.episodes[number].length for number in learner.split.training)
        batches = Stream(data.stream(learner.split.training, options.seed, shard), policy.config, options, frames)
    else:
        batches = Batches(data.dataset(learner.split.training), policy.config, options, shard)
    prepare = Preparation(policy, data.names)
    return Trainer(policy, batches, prepare, learner.optimizer, learner.scheduler, options, accelerator)


def _validation(config: TrainConfig, learner: Learner) -> Validation | None:
    if not config.options.eval_steps:
        return None
    dataset = learner.data.dataset(learner.split.held_out, augmented=False)
    prepare = Preparation(learner.policy, learner.data.names)
    return Validation(dataset, learner.policy.config, config.options, prepare)


def _about(config: TrainConfig, learner: Learner, step: int) -> TrainingManifest:
    meta = learner.data.meta
    return TrainingManifest(
        policy=PolicyRecord.from_json(learner.policy.describe()),
        dataset=DatasetRecord(
            name=config.dataset.repo_id or meta.root.name,
            root=str(meta.root),
            episodes=len(learner.split.training),
            held_out=len(learner.split.held_out),
            frames=sum(meta.episodes[number].length for number in learner.split.training),
        ),
        steps=config.options.steps,
        step=step,
        config=config_to_data(config),
        threads=torch.get_num_threads(),
    )


def _summary(learner: Learner, accelerator: Any) -> str:
    trained, known = count_parameters(learner.policy.network)
    count = f"{trained:,}" if trained == known else f"{trained:,} of {known:,}"
    devices = f"{accelerator.num_processes} × {accelerator.device.type}"
    episodes, tasks = len(learner.split.training), len(learner.data.meta.tasks)
    return (
        f"{learner.policy.config.type} with {count} parameters trained, {episodes} episodes of {tasks} task(s), "
        f"{devices}, {torch.get_num_threads()} thread(s)"
    )
