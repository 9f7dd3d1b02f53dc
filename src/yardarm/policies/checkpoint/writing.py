"""From a policy to a checkpoint that Yardarm and LeRobot load."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError
from safetensors.torch import save, save_file
from torch import Tensor

from yardarm.errors import UsageError, one_line
from yardarm.hub import HUB_ID
from yardarm.policies.checkpoint.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG, WEIGHTS
from yardarm.policies.processing import POSTPROCESSOR, PREPROCESSOR

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["check_hub", "push_checkpoint", "save_checkpoint"]

logger = logging.getLogger(__name__)


def save_checkpoint(policy: LearnedPolicy, folder: str | Path) -> None:
    """Write configuration, pipelines and, last, the weights or the adapter; each file is complete or not there."""
    path = Path(folder).expanduser()
    if policy.adapter is not None and path.resolve() == Path(policy.adapter.base).expanduser().resolve():
        raise UsageError(f"{path} holds the base policy, which the adapter needs: save the adapter somewhere else")
    try:
        path.mkdir(parents=True, exist_ok=True)
        _write(path / CONFIG, json.dumps(policy.config.to_json(), indent=4).encode())
        for file, content in policy.side_files().items():
            _write(path / file, content)
        for name, pipeline in ((PREPROCESSOR, policy.preprocessor), (POSTPROCESSOR, policy.postprocessor)):
            stored = pipeline.stored()
            for file, tensors in stored.tensors.items():
                _write(path / file, save({key: value.contiguous() for key, value in tensors.items()}))
            for file, content in stored.files.items():
                _write(path / file, content)
            _write(path / f"{name}.json", json.dumps(stored.data, indent=2).encode())
        if policy.adapter is not None:
            _write(path / ADAPTER_CONFIG, json.dumps(policy.adapter.config, indent=2, sort_keys=True).encode())
            _write_tensors(path / ADAPTER_WEIGHTS, policy.stored_tensors())
        else:
            _write_tensors(path / WEIGHTS, {**_unused(policy), **policy.stored_tensors()})
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(error)
        raise UsageError(f"a checkpoint cannot be written to {path}: {reason}") from error


def _unused(policy: LearnedPolicy) -> dict[str, Tensor]:
    """What others expect in a file of weights, and nothing reads: a checkpoint without it is as good."""
    try:
        return policy.unused.read()
    except UsageError as error:
        logger.warning("the checkpoint lacks %d tensors that nothing reads: %s", len(policy.unused.names), error)
        return {}


def check_hub(repo_id: str) -> None:
    """Ask the Hub who is logged in, before anything slow: an upload that would be refused fails now."""
    if not HUB_ID.fullmatch(repo_id):
        raise UsageError(f"--policy.repo_id={repo_id} is no name on the Hub: it must be owner/name")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    try:
        HfApi(token=True).whoami()
    except (HTTPError, OSError, ValueError) as error:
        raise UsageError(
            f"{repo_id} cannot be pushed to the Hub ({one_line(error)}); log in first with `hf auth login`"
        ) from error


def push_checkpoint(policy: LearnedPolicy, repo_id: str, *, private: bool | None, message: str) -> str:
    """Upload to the Hub, and return the address of the commit."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, LocalTokenNotFoundError

    api = HfApi(token=True)  # without a token, it says so instead of asking
    if policy.adapter is not None and Path(policy.adapter.base).expanduser().is_dir():
        base = policy.adapter.base
        logger.warning("to load %s, one needs its base policy, too: here it is the folder %s", repo_id, base)
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(policy, folder)
        try:
            made = api.create_repo(repo_id, private=private, exist_ok=True).repo_id  # with its owner
            return str(api.upload_folder(repo_id=made, folder_path=folder, commit_message=message).commit_url)
        except LocalTokenNotFoundError as error:
            raise UsageError(f"{repo_id} cannot be pushed to the Hub: log in first with `hf auth login`") from error
        except HfHubHTTPError as error:
            hint = "; log in with a token that may write there: `hf auth login`"
            hint = hint if error.response.status_code in (401, 403) else ""
            reason = " ".join((error.server_message or one_line(error)).split()).rstrip(".")
            raise UsageError(f"{repo_id} cannot be pushed to the Hub: {reason}{hint}") from error
        except (HTTPError, OSError, RuntimeError, ValueError) as error:
            reason = one_line(error.__cause__ or error) if isinstance(error, RuntimeError) else one_line(error)
            raise UsageError(f"{repo_id} cannot be pushed to the Hub: {reason}") from error


def _write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Tensor by tensor: a second copy of all weights might not fit into memory."""
    partial = path.with_name(path.name + ".part")
    save_file(tensors, partial, metadata={"format": "pt"})
    os.replace(partial, path)


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    os.replace(partial, path)
