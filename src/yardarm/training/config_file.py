"""A training's configuration as plain data: what ``train_config.json`` holds, and what flags are gathered into."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import draccus

from yardarm.config import admit, decode, deepened, plain_value
from yardarm.errors import UsageError, nearest
from yardarm.policies import OptimizerOptions, PeftOptions, SchedulerOptions, code_in_policy
from yardarm.tasks import env_from_data
from yardarm.tracking import WandbOptions
from yardarm.training.config import TrainConfig, TrainDatasetOptions, TrainEvalOptions, TrainOptions

__all__ = ["TRAIN_CONFIG", "check_resumed", "check_same", "config_from_data", "config_to_data"]

TRAIN_CONFIG = "train_config.json"
COMMAND = "train"
SECTIONS = ("dataset", "policy", "env", "eval", "optimizer", "scheduler", "wandb", "peft")
# What a training's weights follow from; and what of it only says where things are.
FIXED = {
    *("policy", "peft", "dataset", "optimizer", "scheduler", "use_policy_training_preset", "seed", "batch_size"),
    *("gradient_accumulation_steps", "ema_decay", "mixed_precision", "task_vector", "rename_map", "tolerance_s"),
}
MOVABLE = {
    "policy.device",
    "policy.hub_dir",
    "policy.self_test",
    "dataset.root",
    "dataset.repo_id",
    "dataset.video_backend",
}
# LeRobot's newer name of a flag.
ALIASES = {"env_eval_freq": "eval_freq"}


def config_from_data(data: Mapping[str, Any], trusted: bool = False) -> TrainConfig:
    """Check names and types, and build the configuration; `trusted` code may be named by a file."""
    own = [entry.name for entry in dataclasses.fields(TrainOptions)]
    plain = {ALIASES.get(name, name): value for name, value in data.items() if name not in SECTIONS}
    for name in plain:
        if name not in own:
            near = nearest(name, (*own, *SECTIONS))
            raise UsageError(f"unknown option '--{name}'{near} `yardarm {COMMAND} --help` lists all")
    sections = {name: _section(data, name) for name in SECTIONS}
    admit("policy", code_in_policy(sections["policy"]), sections["policy"], trusted)
    return TrainConfig(
        dataset=decode(TrainDatasetOptions, "dataset", sections["dataset"], COMMAND),
        policy={name: plain_value(value) for name, value in sections["policy"].items()},
        options=decode(TrainOptions, "", plain, COMMAND),
        env=env_from_data(sections["env"], COMMAND, trusted) if sections["env"] else None,
        eval=decode(TrainEvalOptions, "eval", sections["eval"], COMMAND),
        optimizer=_changes(OptimizerOptions, "optimizer", sections["optimizer"]),
        scheduler=_changes(SchedulerOptions, "scheduler", sections["scheduler"]),
        wandb=decode(WandbOptions, "wandb", sections["wandb"], COMMAND),
        peft=decode(PeftOptions, "peft", sections["peft"], COMMAND) if sections["peft"] else None,
        trust_remote_code=trusted,
    )


def check_resumed(flags: Mapping[str, str], stored: Mapping[str, Any]) -> None:
    """Refuse flags that would turn a resumed training into another one."""
    kind = (stored.get("policy") or {}).get("type")
    for name, value in flags.items():
        if name in ("policy", "policy.type") and value == kind:
            continue  # what only a file names is not run, so a module must be named again
        if name.partition(".")[0] in FIXED and name not in MOVABLE:
            raise UsageError(
                f"--{name} cannot change when a training is resumed; to start a new one from its weights, give "
                "--policy.path=…/pretrained_model without --resume"
            )


def check_same(config: TrainConfig, stored: Mapping[str, Any]) -> None:
    """Refuse a configuration that would turn a resumed training into another one."""
    for name, value in sorted(json.loads(json.dumps(config_to_data(config))).items()):
        before, now = (
            {key: own for key, own in part.items() if f"{name}.{key}" not in MOVABLE}
            if isinstance(part, Mapping)
            else part
            for part in (stored.get(name), value)
        )
        if name in FIXED and before != now:
            raise UsageError(
                f"--{name} cannot change when a training is resumed: it was {before}, and is now {now}; to start a new "
                "training from its weights, train the policy of its checkpoint"
            )


def config_to_data(config: TrainConfig) -> dict[str, Any]:
    """The configuration as plain data, all defaults written out."""
    data: dict[str, Any] = {
        "dataset": draccus.encode(config.dataset),
        "policy": dict(config.policy),
        "env": {"type": config.env.name, **dataclasses.asdict(config.env)} if config.env else None,
        **draccus.encode(config.options),
        "eval": draccus.encode(config.eval),
        "optimizer": dict(config.optimizer),
        "scheduler": dict(config.scheduler),
        "wandb": draccus.encode(config.wandb),
        "peft": draccus.encode(config.peft) if config.peft else None,
    }
    del data["allow_mixed_versions"]  # a user who resumes is asked again
    return {name: str(value) if isinstance(value, Path) else value for name, value in data.items()}


def _section(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What stands below a name."""
    section = data.get(name)
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise UsageError(f"'{name}' must be a section of its own: --{name}.…=…")
    return deepened(section)


def _changes(kind: type, section: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a preset, and no more than that."""
    decoded = decode(kind, section, data, COMMAND)
    return {name: getattr(decoded, name) for name in data}
