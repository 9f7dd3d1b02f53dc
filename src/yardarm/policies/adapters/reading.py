"""From the files of an adapter to an adapter on a network."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from yardarm.errors import UsageError, one_line
from yardarm.hub import HUB_ID, Repositories, existing
from yardarm.policies.adapters.adapter import Adapter, import_peft, inject
from yardarm.policies.checkpoint import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    CONFIG,
    CheckpointFolder,
    check_fit,
    find_checkpoint,
)

__all__ = ["find_base", "read_adapter"]


def find_base(folder: CheckpointFolder, repositories: Repositories | None = None) -> CheckpointFolder:
    """The checkpoint that an adapter was made for."""
    data = folder.read_json(ADAPTER_CONFIG)
    source, base = folder.path / ADAPTER_CONFIG, data.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise UsageError(f"{source} names no base policy: its base_model_name_or_path is {base!r}")
    found = _base_folder(folder, base, data.get("revision"), repositories)
    if found.path.resolve() == folder.path.resolve() or found.read_json(CONFIG).get("use_peft"):
        raise UsageError(f"{source}: its base policy {base} is an adapter's checkpoint itself, not a whole policy")
    return found


def _base_folder(
    folder: CheckpointFolder, base: str, revision: str | None, repositories: Repositories | None
) -> CheckpointFolder:
    source = folder.path / ADAPTER_CONFIG
    local = repositories.local(base, CONFIG) if repositories is not None else None
    for path in (existing(folder.path / base), local, existing(base)):
        if path is not None and path.is_dir():
            return CheckpointFolder(path)
    if not HUB_ID.fullmatch(base):
        raise UsageError(
            f"{source}: its base policy {base} does not exist; put it there, or correct base_model_name_or_path"
        )
    try:
        return find_checkpoint(base, revision)
    except UsageError as error:
        raise UsageError(f"{source}: its base policy cannot be found: {error}") from error


def read_adapter(folder: CheckpointFolder, network: nn.Module, prefix: str) -> Adapter:
    """Put the adapter of a checkpoint onto its base policy's network, in place."""
    data = folder.read_json(ADAPTER_CONFIG)
    found = folder.read_tensors(ADAPTER_WEIGHTS)
    config = _peft_config(data, str(folder.path / ADAPTER_CONFIG))
    try:
        with torch.random.fork_rng(devices=[]):
            adapter = inject(network, prefix, config)
    except UsageError as error:
        raise UsageError(f"{folder.path / ADAPTER_CONFIG}: {error}") from error
    check_fit(found, adapter.tensors(), str(folder.path / ADAPTER_WEIGHTS), ADAPTER_CONFIG)
    import_peft().set_peft_model_state_dict(adapter.model, found)
    adapter.config = data  # unchanged, whatever wrote it
    return adapter


def _peft_config(data: dict[str, Any], source: str) -> Any:
    peft = import_peft()
    if data.get("megatron_config"):  # PEFT would import whatever module the file names as megatron_core
        raise UsageError(f"{source}: adapters for Megatron's layers are not for policies; remove megatron_config there")
    kind = data.get("peft_type")
    if kind not in list(peft.PEFT_TYPE_TO_CONFIG_MAPPING):
        raise UsageError(f"{source}: peft {peft.__version__} knows no adapters of type '{kind}'")
    try:
        config = peft.PeftConfig.from_peft_type(**data)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{source} has a value that cannot work: {one_line(error)}") from error
    if config.is_prompt_learning:
        raise UsageError(f"{source}: adapters of type '{kind}' are for language models")
    return config
