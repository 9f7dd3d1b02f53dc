"""A training between memory and a checkpoint: weights, optimiser, schedule, generators, and the place in the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from yardarm.errors import UsageError, one_line
from yardarm.training.checkpoints import Checkpoint, read_state_json
from yardarm.training.config import TrainConfig
from yardarm.training.config_file import TRAIN_CONFIG, config_to_data
from yardarm.training.generators import restore_generators
from yardarm.training.optimizer_state import load_optimizer, optimizer_groups, optimizer_tensors
from yardarm.training.trainer import Trainer

__all__ = ["restore", "save_policy", "save_state", "threads_of"]

# LeRobot's names.
OPTIMIZER = "optimizer_state.safetensors"
OPTIMIZER_GROUPS = "optimizer_param_groups.json"
SCHEDULER = "scheduler_state.json"
GENERATORS = "rng_state"
STEP = "training_step.json"
# Ours.
PLACE = "data_position.json"
WEIGHTS = "weights.safetensors"
AVERAGE = "average.safetensors"
SCALER = "scaler_state.json"


def save_policy(trainer: Trainer, config: TrainConfig, folder: Path) -> None:
    """Write the policy as it is evaluated, with the configuration that trained it."""
    with trainer.averaged():
        trainer.policy.save_pretrained(folder)
    (folder / TRAIN_CONFIG).write_text(json.dumps(config_to_data(config), indent=4), encoding="utf-8")


def save_state(trainer: Trainer, generators: Sequence[Mapping[str, Tensor]], folder: Path) -> None:
    """Write everything that a resumed training needs; each process has its own generators."""
    save_file(_flat(optimizer_tensors(trainer.optimizer)), folder / OPTIMIZER)
    _write(folder / OPTIMIZER_GROUPS, optimizer_groups(trainer.optimizer))
    state = trainer.scheduler.state_dict()
    _write(folder / SCHEDULER, {**state, "lr_lambdas": [None for _ in trainer.optimizer.param_groups]})
    for number, states in enumerate(generators):
        save_file(dict(states), folder / _generators(number))
    _write(folder / PLACE, trainer.batches.state_dict())
    _write(folder / STEP, {"step": trainer.step, "threads": torch.get_num_threads()})
    if trainer.scaler is not None:
        _write(folder / SCALER, trainer.scaler.state_dict())
    if trainer.average is not None:
        # The policy's own folder has the average, and what is not averaged; what is trained on is this.
        save_file(_flat(trainer.average.trained), folder / WEIGHTS)
        save_file(_flat(trainer.average.weights), folder / AVERAGE)


def restore(trainer: Trainer, checkpoint: Checkpoint, process: int = 0) -> None:
    """Resume from a checkpoint whose policy the trainer has already."""
    folder = checkpoint.state
    try:
        load_optimizer(trainer.optimizer, load_file(folder / OPTIMIZER), read_state_json(folder / OPTIMIZER_GROUPS))
        if (folder / SCHEDULER).exists():
            own = trainer.scheduler.state_dict()
            known = {**own, **read_state_json(folder / SCHEDULER), "lr_lambdas": own["lr_lambdas"]}
            trainer.scheduler.load_state_dict(known)
        if trainer.average is not None:
            trainer.average.load(load_file(folder / WEIGHTS), load_file(folder / AVERAGE))
        if trainer.scaler is not None and (folder / SCALER).exists():
            trainer.scaler.load_state_dict(read_state_json(folder / SCALER))
        trainer.step = int(read_state_json(folder / STEP)["step"])
        if (folder / PLACE).exists():
            trainer.batches.load_state_dict(read_state_json(folder / PLACE))
        restore_generators(load_file(folder / _generators(process)))
    except UsageError:
        raise
    except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise UsageError(f"{folder} does not fit this training: {one_line(error)[:200]}") from error


def threads_of(checkpoint: Checkpoint) -> int | None:
    """How many threads torch had."""
    return read_state_json(checkpoint.state / STEP).get("threads")


def _generators(process: int) -> str:
    return f"{GENERATORS}_{process}.safetensors" if process else f"{GENERATORS}.safetensors"


def _flat(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
