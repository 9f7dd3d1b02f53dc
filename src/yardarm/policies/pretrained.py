"""From a checkpoint to a policy that can be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from yardarm.errors import UsageError
from yardarm.policies.adapters import find_base, read_adapter
from yardarm.policies.checkpoint import (
    CONFIG,
    WEIGHTS,
    CheckpointFolder,
    SplitWeights,
    fill,
    find_checkpoint,
    split_old_statistics,
)
from yardarm.policies.config import PolicyConfig
from yardarm.policies.learned import LearnedPolicy, Placement, choose_device, choose_dtype
from yardarm.policies.loading import CHECKPOINT_TYPES
from yardarm.policies.processing import (
    POSTPROCESSOR,
    PREPROCESSOR,
    Pipeline,
    Rename,
    make_postprocessor,
    make_preprocessor,
    modes_of,
)
from yardarm.registry import import_object

__all__ = ["load_policy"]

FIXED = {"input_features", "output_features", "pretrained_path", "use_peft"}


def load_policy(
    path: str | Path,
    *,
    revision: str | None = None,
    type: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    rename_map: Mapping[str, str] | None = None,
    resize_images: bool = False,
    merge_adapter: bool = True,
    **overrides: Any,
) -> LearnedPolicy:
    """Load a policy from a folder or from the Hugging Face Hub, as it was trained with LeRobot.

    `rename_map` maps the environment's input names to the policy's. `resize_images` lets images of another size than
    the policy was trained with be resized. `merge_adapter=False` leaves an adapter beside the weights, so that it can
    be trained further. Any field of the checkpoint's ``config.json`` can be overridden by its name.
    """
    for name, value in (("resize_images", resize_images), ("merge_adapter", merge_adapter)):
        if not isinstance(value, bool):
            raise UsageError(f"--policy.{name} must be true or false, not {value}")
    placement = Placement(choose_device(device), choose_dtype(dtype), resize_images)
    folder = find_checkpoint(str(path), revision or overrides.pop("pretrained_revision", None))
    stored = folder.read_json(CONFIG)
    architecture = _architecture(stored, folder, type)
    if fixed := FIXED & overrides.keys():
        raise UsageError(f"--policy.{min(fixed)} cannot be changed: it is what the checkpoint was trained with")
    changed = "".join(f" with --policy.{name}={value}" for name, value in overrides.items())
    config = architecture.config_class.from_json(stored, overrides, f"{folder.path / CONFIG}{changed}")
    whole = find_base(folder) if config.use_peft else folder
    split = split_old_statistics(whole.read_tensors(WEIGHTS), config)
    preprocessor, postprocessor = _pipelines(folder, config, split)
    if "normalization_mapping" in overrides:
        preprocessor, postprocessor = (part.normalizing(modes_of(config)) for part in (preprocessor, postprocessor))
    if rename_map is not None:
        preprocessor = preprocessor.having(_renaming(rename_map, config))
    network = _network(architecture, config, split.weights, f"{whole.path / WEIGHTS}", f"{CONFIG}{changed}")
    adapter = read_adapter(folder, network, architecture.prefix) if config.use_peft else None
    if adapter is not None and merge_adapter:
        adapter.merge()  # before the network's numbers become shorter
    policy = architecture(config, network, preprocessor, postprocessor, placement)
    policy.adapter = adapter
    policy.source = replace(policy.source, path=str(path), commit=folder.commit)
    if adapter is None:
        policy.held.reload = partial(_load_again, policy, folder)
    return policy


def _load_again(policy: LearnedPolicy, folder: CheckpointFolder) -> nn.Module:
    """The network of a policy that let go of its own."""
    weights = split_old_statistics(folder.read_tensors(WEIGHTS), policy.config).weights
    network = _network(type(policy), policy.config, weights, f"{folder.path / WEIGHTS}", CONFIG)
    return policy.placed(network)


def _architecture(stored: Mapping[str, Any], folder: CheckpointFolder, wanted: str | None) -> type[LearnedPolicy]:
    kind = stored.get("type")
    if kind not in CHECKPOINT_TYPES:
        raise UsageError(
            f"{folder.path / CONFIG} is of a policy of type '{kind}', which LeRobot itself must run: add "
            "--policy.python=PATH, the Python of an environment that has lerobot, msgpack and websockets "
            "(to serve it: `yardarm-serve --backend=lerobot` there)"
        )
    if wanted is not None and wanted != kind:
        raise UsageError(f"--policy.type={wanted}: {folder.path} is of type '{kind}'; leave --policy.type away")
    return import_object(CHECKPOINT_TYPES[kind])


def _pipelines(folder: CheckpointFolder, config: PolicyConfig, split: SplitWeights) -> tuple[Pipeline, Pipeline]:
    """From their files, or from the statistics among an old checkpoint's weights."""
    if split.statistics and not folder.has(f"{PREPROCESSOR}.json"):
        return make_preprocessor(config, split.statistics), make_postprocessor(config, split.statistics)
    return _pipeline(folder, PREPROCESSOR), _pipeline(folder, POSTPROCESSOR)


def _renaming(rename_map: Mapping[str, str], config: PolicyConfig) -> Rename:
    """What a user asks for must be of use; a checkpoint may hold names that nobody reads."""
    for old, new in rename_map.items():
        if new not in config.read_features:
            raise UsageError(
                f"rename_map renames '{old}' to '{new}', which the policy does not read; "
                f"it reads {', '.join(config.read_features)}"
            )
    return Rename(dict(rename_map))


def _pipeline(folder: CheckpointFolder, name: str) -> Pipeline:
    data = folder.read_json(f"{name}.json")
    try:
        return Pipeline.from_json(data, folder.read_tensors)
    except UsageError as error:
        raise UsageError(f"{folder.path / name}.json: {error}") from error


def _network(
    architecture: type[LearnedPolicy], config: PolicyConfig, weights: Mapping[str, Tensor], source: str, settings: str
) -> nn.Module:
    """Lay the network out as the settings say, and give it the tensors of the source."""
    with _Uninitialized(), torch.random.fork_rng(devices=[]):
        network = architecture.network_class(config)
    fill(network, architecture.prefix, weights, source, settings)
    return network


class _Uninitialized(TorchFunctionMode):
    """Leaves new parameters as they are: weights that are replaced at once need no random values."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__module__", None) == "torch.nn.init" or function in (Tensor.normal_, Tensor.uniform_):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))
