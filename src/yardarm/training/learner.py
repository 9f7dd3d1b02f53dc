"""What learns, and from what: a policy that is new, fine-tuned or resumed, and the dataset as it reads it."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from yardarm.datasets import DatasetMetadata
from yardarm.errors import UsageError
from yardarm.hub import Repositories
from yardarm.policies import ARCHITECTURES, ForeignCheckpoint, OptimizerOptions, SchedulerOptions
from yardarm.policies.learning import (
    LearnedPolicy,
    add_adapter,
    conditioned_features,
    find_architecture,
    load_to_fine_tune,
    make_task_vector,
    new_config,
    new_policy,
)
from yardarm.training.checkpoints import Checkpoint
from yardarm.training.config import TrainConfig
from yardarm.training.data import EpisodeSplit, TrainingData, policy_features, read_meta, split_episodes, statistics
from yardarm.training.frozen import count_parameters

__all__ = ["Learner", "make_learner"]

logger = logging.getLogger(__name__)

# Of ``--policy.…``: what is for the trainer, and not for a policy's configuration.
NOT_FIELDS = ("type", "path", "revision", "hub_dir", "self_test")
FOR_EVALUATIONS = {
    "dtype": "training has --mixed_precision=bf16",
    "resize_images": "train on images of the size that the policy knows",
    "allow_missing_stats": "training takes the statistics of the dataset",
    "python": "training runs here, without LeRobot",
}


@dataclass(frozen=True)
class Learner:
    """A policy, its dataset, and how it is best trained."""

    policy: LearnedPolicy
    data: TrainingData
    split: EpisodeSplit
    optimizer: OptimizerOptions
    scheduler: SchedulerOptions


def make_learner(config: TrainConfig, checkpoint: Checkpoint | None) -> Learner:
    """Read the dataset's metadata, and make or load a policy that fits it."""
    Repositories(config.policy.get("hub_dir"))  # a folder that is not there is refused before anything is read
    meta = read_meta(config.dataset)
    policy = _policy(config, meta, checkpoint)
    policy.see_what_is_there(meta.readable)
    names = {own: name for name, own in policy.wants.own_names.items()}
    if policy.architecture.objective is None:
        raise UsageError(f"policies of type '{policy.config.type}' cannot be trained on demonstrations")
    policy.config.check_trainable()
    if not count_parameters(policy.network)[0]:
        raise UsageError("all of the policy's parameters are frozen by its options, so there is nothing to train")
    if config.options.gradient_checkpointing:
        network = policy.network
        if not hasattr(network, "checkpoint_gradients"):
            raise UsageError(f"--gradient_checkpointing=true: policies of type '{policy.config.type}' do not offer it")
        network.checkpoint_gradients()
    policy.config.push_to_hub = config.pushes
    if config.dataset.image_transforms.enable and not policy.config.images:
        raise UsageError("--dataset.image_transforms.enable=true: the policy sees no images")
    _check_fits(policy, meta)
    _check_statistics(policy, meta, checkpoint)
    split = split_episodes(meta, config.dataset, config.options.seed)
    if policy.wants.instruction:
        _check_instructions(meta, split)
    plain = not config.options.use_policy_training_preset
    return Learner(
        policy,
        TrainingData(meta, config.dataset, policy.config, config.options.tolerance_s, names),
        split,
        replace(OptimizerOptions() if plain else policy.config.optimizer_preset(), **config.optimizer),
        (SchedulerOptions() if plain else policy.config.scheduler_preset()).changed(config.scheduler),
    )


def _policy(config: TrainConfig, meta: DatasetMetadata, checkpoint: Checkpoint | None) -> LearnedPolicy:
    if checkpoint is not None:
        kind = config.policy.get("type")
        return load_to_fine_tune(str(checkpoint.policy), type=kind, device=_device(config), **config.loading)
    if "path" in config.policy:
        return _fine_tuned(config, meta)
    return _new(config, meta)


def _new(config: TrainConfig, meta: DatasetMetadata) -> LearnedPolicy:
    architecture = find_architecture(str(config.policy["type"]))
    inputs, outputs = policy_features(meta)
    task_vector = None
    if config.options.task_vector:
        task_vector = make_task_vector(config.options.task_vector, meta.tasks)
        inputs = conditioned_features(inputs, task_vector.size)
    policy_config = new_config(architecture, inputs, outputs, _fields(config))
    known = statistics(meta, {**inputs, **outputs}, {})
    repositories = Repositories(config.policy.get("hub_dir"))
    policy = new_policy(architecture, policy_config, known, config.options.seed, task_vector, repositories)
    if len(meta.tasks) > 1 and not task_vector and not policy.wants.instruction:
        logger.warning(
            "the dataset has %d tasks, and nothing tells the policy which one it does: --task_vector=tasks would",
            len(meta.tasks),
        )
    return policy


def _fine_tuned(config: TrainConfig, meta: DatasetMetadata) -> LearnedPolicy:
    """A trained policy with the statistics of the new data, and with adapters if they are asked for."""
    renamed = config.options.rename_map
    for name, instead in FOR_EVALUATIONS.items():
        if name in config.policy:
            raise UsageError(f"--policy.{name} is for evaluations: {instead}")
    options = {"device": _device(config), **_fields(config), "revision": config.policy.get("revision")}
    options |= config.loading
    if kind := config.policy.get("type"):
        options["type"] = kind
    path = str(config.policy["path"])
    if Path(path).expanduser().is_dir():
        # An adapter must find its base from anywhere, and the same one when `checkpoints/last` has moved on.
        path = str(Path(path).expanduser().resolve())
    try:
        policy = load_to_fine_tune(path, rename_map=renamed, **options)
    except ForeignCheckpoint as error:
        raise UsageError(
            f"{error.source} is of a policy of type '{error.kind}', which cannot be trained here, but only "
            f"{', '.join(ARCHITECTURES.names())}: train it with LeRobot, and evaluate it with `yardarm eval "
            "--policy.python=PATH`; if it is your own, name its module: --policy.type=MODULE:NAME"
        ) from None
    inputs, outputs = policy_features(meta)
    policy.adapt_to({(renamed or {}).get(name, name): feature for name, feature in {**inputs, **outputs}.items()})
    own = policy.config
    known = statistics(meta, {**own.input_features, **own.output_features}, renamed or {})
    policy.fit_to(known, meta.tasks)
    own.pretrained_path = path
    if config.peft is not None:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.options.seed)
            add_adapter(policy, config.peft, path)
    return policy


def _fields(config: TrainConfig) -> dict[str, Any]:
    return {name: value for name, value in config.policy.items() if name not in NOT_FIELDS}


def _device(config: TrainConfig) -> str:
    return str(config.policy.get("device") or "auto")


def _check_statistics(policy: LearnedPolicy, meta: DatasetMetadata, checkpoint: Checkpoint | None) -> None:
    """What a policy normalises must have a scale: it would learn from raw values without a word."""
    if not (missing := policy.without_statistics()):
        return
    listed = ", ".join(f"'{name}'" for name in missing)
    if checkpoint is not None:
        raise UsageError(f"{checkpoint.policy} has no normalisation statistics for {listed}; start the training again")
    count = shlex.join(["yardarm", "dataset", "recompute-stats", str(meta.root), "--in_place=true"])
    raise UsageError(f"{meta.root} has no statistics to normalise {listed} with; `{count}` adds them")


def _check_fits(policy: LearnedPolicy, meta: DatasetMetadata) -> None:
    """The dataset must have what the policy reads, in the same shapes."""
    known: Mapping[str, Any] = meta.readable
    wanted = {**policy.wants.shapes, "action": (policy.config.action_size,)}
    for name, shape in wanted.items():
        if name not in known:
            there = ", ".join(other for other in known if other.startswith(("observation.", "action")))
            raise UsageError(
                f"the policy reads '{name}', which {meta.root} does not have; it has {there}; --rename_map maps the "
                "dataset's names to the policy's"
            )
        if tuple(known[name].shape) != tuple(shape) and name not in policy.wants.resizable:
            raise UsageError(
                f"the policy reads '{name}' of the shape {tuple(shape)}, but in {meta.root} it is "
                f"{tuple(known[name].shape)}"
            )


def _check_instructions(meta: DatasetMetadata, split: EpisodeSplit) -> None:
    """A policy that reads its task would learn nothing from an empty text."""
    for number in (*split.training, *split.held_out):
        tasks = meta.episodes[number].tasks
        if not tasks or not all(text.strip() for text in tasks):
            words = shlex.join(["yardarm", "dataset", "relabel", str(meta.root), f"--episodes={number}"])
            raise UsageError(
                f"the policy reads an instruction, but episode {number} of {meta.root} has none; "
                f"`{words} --task='…' --in_place=true` gives it one"
            )
