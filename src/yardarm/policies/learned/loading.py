"""From a checkpoint to a policy that can be evaluated, or trained further."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from yardarm.errors import UsageError
from yardarm.hub import Repositories
from yardarm.policies.adapters import find_base, read_adapter
from yardarm.policies.checkpoint import (
    CONFIG,
    WEIGHTS,
    CheckpointFolder,
    SplitWeights,
    UnusedTensors,
    fill,
    find_checkpoint,
    read_weights,
    split_old_statistics,
)
from yardarm.policies.learned.architecture import Architecture, find_architecture
from yardarm.policies.learned.config import PolicyConfig
from yardarm.policies.learned.fingerprint import FINGERPRINT, check_fingerprint
from yardarm.policies.learned.placement import Placement, choose_device, choose_dtype
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.loading import ARCHITECTURES, ForeignCheckpoint
from yardarm.policies.processing import (
    POSTPROCESSOR,
    PREPROCESSOR,
    Pipeline,
    Processing,
    Rename,
    modes_of,
)

__all__ = ["load_policy", "load_to_fine_tune"]

logger = logging.getLogger(__name__)

WITHOUT_STATISTICS = (
    "get a complete copy of the checkpoint, or, if it was trained without them, let raw values pass with "
    "--policy.allow_missing_stats=true"
)
# Modules with functions that give new parameters their values; transformers puts its own in the place of torch's.
INITIALIZERS = ("torch.nn.init", "transformers.initialization")
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
    allow_missing_stats: bool = False,
    merge_adapter: bool = True,
    hub_dir: str | Path | None = None,
    self_test: bool = True,
    **overrides: Any,
) -> LearnedPolicy:
    """Load a policy from a folder or from the Hugging Face Hub, as Yardarm or LeRobot trained it.

    `type` is needed for an architecture that is not registered: ``"package.module:NAME"``. `rename_map` maps the
    environment's input names to the policy's. `resize_images` lets images of another size than the policy was trained
    with be resized. `allow_missing_stats` lets features pass unnormalised if the checkpoint has
    no statistics for them, instead of refusing it. `merge_adapter=False` leaves an adapter beside the weights, so that
    it can be trained further. `hub_dir` is a folder, laid out ``<owner>/<name>/…``, in which repositories of the Hub
    are looked for first: the policy's own, and those that it names. `self_test=False` loads a policy even if it gives
    other answers than when it was saved. Any field of the checkpoint's ``config.json`` can
    be overridden by its name.
    """
    _check_switches(resize_images=resize_images, allow_missing_stats=allow_missing_stats)
    _check_switches(merge_adapter=merge_adapter, self_test=self_test)
    repositories = Repositories(hub_dir)
    placement = Placement(choose_device(device), choose_dtype(dtype), resize_images)
    checkpoint = _open(path, revision, type, overrides, allow_missing_stats, repositories)
    policy = _assembled(checkpoint, placement, rename_map, merge_adapter)
    _check_statistics(policy, checkpoint)
    if self_test:
        _check_answers(policy, checkpoint)
    return policy


def load_to_fine_tune(
    path: str,
    *,
    revision: str | None = None,
    type: str | None = None,
    device: str = "auto",
    rename_map: Mapping[str, str] | None = None,
    hub_dir: str | Path | None = None,
    self_test: bool = True,
    **overrides: Any,
) -> LearnedPolicy:
    """A policy that will take over the statistics of other data, whether it has any of its own or not."""
    _check_switches(self_test=self_test)
    checkpoint = _open(path, revision, type, overrides, True, Repositories(hub_dir))
    policy = _assembled(checkpoint, Placement(choose_device(device)), rename_map, merge_adapter=False)
    if self_test:
        _check_answers(policy, checkpoint)
    return policy


def _check_switches(**switches: Any) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise UsageError(f"--policy.{name} must be true or false, not {value}")


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A folder whose configuration has been read."""

    path: str
    """What the user calls it."""
    folder: CheckpointFolder
    architecture: Architecture
    config: PolicyConfig
    overrides: Mapping[str, Any]
    allow_missing_stats: bool
    repositories: Repositories


def _open(
    path: str | Path,
    revision: str | None,
    kind: str | None,
    overrides: dict[str, Any],
    allow_missing_stats: bool,
    repositories: Repositories,
) -> _Checkpoint:
    folder = find_checkpoint(str(path), revision or overrides.pop("pretrained_revision", None), repositories)
    stored = folder.read_json(CONFIG)
    architecture = _architecture(stored, folder, kind)
    if fixed := FIXED & overrides.keys():
        raise UsageError(f"--policy.{min(fixed)} cannot be changed: it is what the checkpoint was trained with")
    config = architecture.config.from_json(stored, overrides, f"{folder.path / CONFIG}{_changes(overrides)}")
    config.check_changes(stored, folder.path)
    config.complete(repositories, folder.path)
    return _Checkpoint(str(path), folder, architecture, config, overrides, allow_missing_stats, repositories)


def _changes(overrides: Mapping[str, Any]) -> str:
    """What the user changed in a configuration, for messages."""
    return "".join(f" with --policy.{name}={value}" for name, value in overrides.items())


def _assembled(
    checkpoint: _Checkpoint, placement: Placement, rename_map: Mapping[str, str] | None, merge_adapter: bool
) -> LearnedPolicy:
    folder, architecture, config = checkpoint.folder, checkpoint.architecture, checkpoint.config
    whole = find_base(folder, checkpoint.repositories) if config.use_peft else folder
    network = _laid_out(architecture, config)
    weights, unused = _weights(whole, network, architecture)
    split = split_old_statistics(weights, config)
    processing = _processing(checkpoint, split).completed(checkpoint.repositories)
    if "normalization_mapping" in checkpoint.overrides:
        modes = modes_of(config)
        processing = Processing(processing.preprocessor.normalizing(modes), processing.postprocessor.normalizing(modes))
    if rename_map is not None:
        renamed = processing.preprocessor.having(_renaming(rename_map, config))
        processing = replace(processing, preprocessor=renamed)
    fill(network, architecture.prefix, split.weights, f"{whole.path / WEIGHTS}", _settings(checkpoint))
    adapter = read_adapter(folder, network, architecture.prefix) if config.use_peft else None
    if adapter is not None and merge_adapter:
        adapter.merge()  # before the network's numbers become shorter
    policy = architecture.policy(architecture, config, network, processing, placement)
    policy.adapter, policy.unused = adapter, unused
    policy.source = replace(policy.source, path=checkpoint.path, commit=folder.commit)
    if adapter is None:
        policy.weights.reload = partial(_load_again, policy, folder)
    return policy


def _check_statistics(policy: LearnedPolicy, checkpoint: _Checkpoint) -> None:
    """Refuse a policy that would silently misread the world, or warn about it."""
    if not (missing := policy.without_statistics()):
        return
    listed = ", ".join(f"'{name}'" for name in missing)
    fact = f"{checkpoint.folder.path} has no normalisation statistics for {listed}"
    if not checkpoint.allow_missing_stats:
        raise UsageError(f"{fact}; {WITHOUT_STATISTICS}")
    logger.warning("%s: raw values pass, as --policy.allow_missing_stats=true says", fact)


def _check_answers(policy: LearnedPolicy, checkpoint: _Checkpoint) -> None:
    """Refuse a policy that does not do what it did; other options may change what it does."""
    folder = checkpoint.folder
    if folder.has(FINGERPRINT) and not checkpoint.overrides:
        check_fingerprint(policy, folder.read_bytes(FINGERPRINT), f"{folder.path / FINGERPRINT}")


def _load_again(policy: LearnedPolicy, folder: CheckpointFolder) -> nn.Module:
    """The network of a policy that released its own."""
    network = _laid_out(policy.architecture, policy.config)
    weights, _ = _weights(folder, network, policy.architecture)
    weights = split_old_statistics(weights, policy.config).weights
    fill(network, policy.architecture.prefix, weights, f"{folder.path / WEIGHTS}", CONFIG)
    return policy.placed(network)


def _weights(
    folder: CheckpointFolder, network: nn.Module, architecture: Architecture
) -> tuple[dict[str, Tensor], UnusedTensors]:
    own = {architecture.prefix + name for name in network.state_dict()}
    return read_weights(folder, own, architecture.unused, architecture.names_now)


def _architecture(stored: Mapping[str, Any], folder: CheckpointFolder, wanted: str | None) -> Architecture:
    """What the user named, or what the file names; a file chooses among what is registered, and runs nothing else."""
    kind = stored.get("type")
    if not isinstance(kind, str):
        raise UsageError(f"{folder.path / CONFIG} names no 'type' of policy, so it is no policy's configuration")
    if wanted is not None and ":" in wanted:
        architecture = find_architecture(wanted)
        if architecture.name != kind:
            raise UsageError(
                f"--policy.type={wanted}: its name is '{architecture.name}', but {folder.path} is of type '{kind}'"
            )
        return architecture
    if kind not in ARCHITECTURES.names():
        raise ForeignCheckpoint(str(folder.path / CONFIG), kind)
    if wanted is not None and wanted != kind:
        raise UsageError(f"--policy.type={wanted}: {folder.path} is of type '{kind}'; omit --policy.type")
    return find_architecture(kind)


def _processing(checkpoint: _Checkpoint, split: SplitWeights) -> Processing:
    """From their files, or from the statistics among an old checkpoint's weights."""
    folder, config = checkpoint.folder, checkpoint.config
    has = [folder.has(f"{name}.json") for name in (PREPROCESSOR, POSTPROCESSOR)]
    if not any(has) and not split.statistics and not checkpoint.allow_missing_stats:
        fact = f"{folder.path} has no {PREPROCESSOR}.json, and no normalisation statistics among its weights either"
        raise UsageError(f"{fact}; {WITHOUT_STATISTICS}")
    if not any(has) or (split.statistics and not has[0]):
        return checkpoint.architecture.processing(config, split.statistics)
    before = _following_options(_pipeline(checkpoint, PREPROCESSOR), checkpoint)
    return Processing(before, _pipeline(checkpoint, POSTPROCESSOR))


def _following_options(pipeline: Pipeline, checkpoint: _Checkpoint) -> Pipeline:
    """With what the user said of its steps by options of the policy."""
    config, names = checkpoint.config, [step.name for step in pipeline.steps]
    for option, (step, setting) in config.step_options.items():
        if step not in names:
            file = f"{checkpoint.folder.path / PREPROCESSOR}.json"
            raise UsageError(f"{file} has no step '{step}', which policies of type '{config.type}' need")
        if option in checkpoint.overrides:
            pipeline = pipeline.setting(step, setting, getattr(config, option))
    return pipeline


def _renaming(rename_map: Mapping[str, str], config: PolicyConfig) -> Rename:
    """What a user asks for must have an effect; a checkpoint may hold names that are never read."""
    for old, new in rename_map.items():
        if new not in config.read_features:
            raise UsageError(
                f"rename_map renames '{old}' to '{new}', which the policy does not read; "
                f"it reads {', '.join(config.read_features)}"
            )
    return Rename(dict(rename_map))


def _pipeline(checkpoint: _Checkpoint, name: str) -> Pipeline:
    folder = checkpoint.folder
    data = folder.read_json(f"{name}.json")
    try:
        return Pipeline.from_json(data, folder, checkpoint.architecture.steps)
    except UsageError as error:
        raise UsageError(f"{folder.path / name}.json: {error}") from error


def _laid_out(architecture: Architecture, config: PolicyConfig) -> nn.Module:
    """A network as the settings say, to be filled."""
    with _Uninitialized(), torch.random.fork_rng(devices=[]):
        return architecture.made(config)


def _settings(checkpoint: _Checkpoint) -> str:
    """What the shapes of a network follow from, for messages."""
    hub_dir = checkpoint.repositories.hub_dir
    given = {**checkpoint.overrides, **({"hub_dir": hub_dir} if hub_dir is not None else {})}
    return " and ".join((CONFIG, *checkpoint.config.side_files())) + _changes(given)


class _Uninitialized(TorchFunctionMode):
    """Leaves new parameters as they are: weights that are replaced at once need no random values."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__module__", None) in INITIALIZERS or function is Tensor.uniform_:
            return args[0] if args else kwargs["tensor"]
        if function is Tensor.normal_:  # a truncated distribution draws until all values are within its ends
            return args[0].zero_()
        return function(*args, **(kwargs or {}))
