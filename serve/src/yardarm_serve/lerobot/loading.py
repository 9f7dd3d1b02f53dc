"""Loads a checkpoint with LeRobot's own loaders."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from yardarm_serve.backend import BackendError
from yardarm_serve.lerobot.kinds import NOT_POLICIES

__all__ = ["Loaded", "content_hash", "load"]

# How many of a checkpoint's tensors are compared with the loaded ones.
COMPARED = 8


@dataclass(frozen=True)
class Loaded:
    """A policy, and its two processing pipelines."""

    policy: Any
    config: Any
    preprocessor: Any
    postprocessor: Any
    folder: Path

    @property
    def device(self) -> str:
        """The device that it computes on."""
        return str(self.config.device)


def load(
    path: str, revision: str | None, device: str, expected_type: str | None, overrides: Mapping[str, Any]
) -> Loaded:
    """Load a policy with LeRobot's classes; raise `BackendError` for what the user can fix."""
    try:
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors
    except ImportError as error:
        raise BackendError(f"{sys.executable} cannot import LeRobot: {error}") from error
    folder = _folder(path, revision)
    config = _config(PreTrainedConfig, folder, overrides)
    if config.type in NOT_POLICIES:
        raise BackendError(f"{folder} has the type '{config.type}', which rates observations and has no actions")
    if expected_type is not None and expected_type != config.type:
        raise BackendError(f"--policy.type={expected_type}: {folder} has the type '{config.type}'; omit the flag")
    config.pretrained_path = folder
    config.device = _device(device)
    if getattr(config, "pretrained_backbone_weights", None):
        config.pretrained_backbone_weights = None  # they would be downloaded, only to be replaced
    try:
        policy = _policy(get_policy_class(config.type), folder, config)
        processors = make_pre_post_processors(
            policy_cfg=config,
            pretrained_path=str(folder),
            preprocessor_overrides={"device_processor": {"device": config.device}},
        )
    except Exception as error:  # LeRobot, safetensors and transformers raise many types
        raise BackendError(f"{folder} cannot be loaded by this LeRobot: {_one_line(error)}") from error
    policy.to(config.device).eval()
    _check_weights(policy, folder)
    return Loaded(policy, config, processors[0], processors[1], folder)


def _folder(path: str, revision: str | None) -> Path:
    folder = Path(path).expanduser()
    if not folder.is_dir():
        if folder.is_absolute() or path.count("/") != 1:
            raise BackendError(f"--policy.path={path}: there is no such folder, and it is not a Hub id (owner/name)")
        from huggingface_hub import snapshot_download

        try:
            folder = Path(snapshot_download(path, revision=revision))
        except Exception as error:  # offline, unknown, forbidden: each has its own type
            raise BackendError(f"--policy.path={path} cannot be downloaded: {_one_line(error)}") from error
    if not (folder / "config.json").is_file():
        raise BackendError(f"--policy.path={path}: {folder} has no config.json, so it is not a LeRobot checkpoint")
    return folder


def _config(kind: Any, folder: Path, overrides: Mapping[str, Any]) -> Any:
    try:
        config = kind.from_pretrained(folder)
    except Exception as error:  # draccus raises many types
        raise BackendError(
            f"{folder / 'config.json'} cannot be read by this LeRobot: {_one_line(error)}; "
            "was the checkpoint made by a newer one?"
        ) from error
    fields = [field.name for field in dataclasses.fields(config)]
    for name, value in overrides.items():
        if name not in fields:
            close = difflib.get_close_matches(name, fields, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise BackendError(f"--policy.{name}: a checkpoint of type '{config.type}' has no such field{hint}")
        setattr(config, name, value)
    if overrides and hasattr(config, "__post_init__"):
        try:
            config.__post_init__()  # LeRobot's own checks, again
        except Exception as error:
            given = ", ".join(f"--policy.{name}={value}" for name, value in overrides.items())
            raise BackendError(f"{given} is not valid: {_one_line(error)}") from error
    return config


def _policy(kind: Any, folder: Path, config: Any) -> Any:
    if not getattr(config, "use_peft", False):
        return kind.from_pretrained(folder, config=config)
    from peft import PeftConfig, PeftModel

    adapter = PeftConfig.from_pretrained(folder)
    base = kind.from_pretrained(adapter.base_model_name_or_path, config=config)
    # The adapters are now part of the base model, which has an episode's queues.
    return PeftModel.from_pretrained(base, folder, config=adapter).get_base_model()


def _device(name: str) -> str:
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BackendError(f"--policy.device={name} cannot be used here: {_one_line(error)}") from error
    return name


def _check_weights(policy: Any, folder: Path) -> None:
    """Raise if the policy lacks its checkpoint's weights: some LeRobot loaders log an error and use random ones."""
    file = folder / "model.safetensors"
    if not file.is_file():
        return  # adapters, whose base model is elsewhere
    from safetensors import safe_open

    own = dict(policy.named_parameters(remove_duplicate=False))  # a shared tensor may be stored by any of its names
    with safe_open(file, framework="pt") as stored:
        names = set(stored.keys())
        found = {name: key for name in own for key in (name, name.removeprefix("model.")) if key in names}
        if 2 * len(found) < len(own):  # LeRobot renames some types' tensors: compare their content instead
            _check_some_content(own, stored, file)
            return
        places = {own[name].data_ptr() for name in found}
        missing = [name for name in own if name not in found and own[name].data_ptr() not in places]
        sample = list(found)[:: max(1, len(found) // COMPARED)]
        different = [name for name in sample if not _same(own[name], stored, found[name])]
        for name in [*missing, *different][:1]:
            raise BackendError(f"{file}: LeRobot did not load '{name}' from it, and used other weights instead")


def _same(parameter: torch.Tensor, stored: Any, key: str) -> bool:
    tensor = stored.get_tensor(key)
    return parameter.shape == tensor.shape and torch.equal(parameter.detach().cpu(), tensor.to(parameter.dtype))


def _check_some_content(own: Mapping[str, torch.Tensor], stored: Any, file: Path) -> None:
    """Raise unless at least one of the largest parameters equals a tensor in the file."""
    largest = sorted(own.values(), key=lambda value: value.numel(), reverse=True)[:COMPARED]
    keys = {key: tuple(stored.get_slice(key).get_shape()) for key in stored.keys()}  # noqa: SIM118
    for parameter in largest:
        if any(shape == tuple(parameter.shape) and _same(parameter, stored, key) for key, shape in keys.items()):
            return
    raise BackendError(f"{file}: LeRobot loaded none of its tensors, and used other weights instead")


def content_hash(folder: Path, extra: str) -> str:
    """A short hash of a folder's files and of changed options."""
    digest = hashlib.sha256(extra.encode())
    for file in sorted(folder.glob("*")):
        if file.suffix in (".json", ".safetensors"):
            digest.update(file.name.encode())
            with file.open("rb") as content:
                while block := content.read(1 << 24):
                    digest.update(block)
    return digest.hexdigest()[:12]


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]
