"""From a path or a Hub id to a folder on this machine."""

from __future__ import annotations

import re
from pathlib import Path

from yardarm.errors import UsageError, one_line
from yardarm.policies.checkpoint.files import CONFIG, CheckpointFolder

__all__ = ["find_checkpoint"]

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
# Where a checkpoint lies inside the folders that training makes.
INNER = ("pretrained_model", "last/pretrained_model", "checkpoints/last/pretrained_model")


def find_checkpoint(path_or_id: str | Path, revision: str | None = None) -> CheckpointFolder:
    """A local folder, or the files of a repository on the Hub, downloaded unless they are in the cache."""
    path = Path(path_or_id).expanduser()
    if path.is_dir():
        if revision is not None:
            raise UsageError(f"--policy.revision={revision}: {path} is a local folder, which has no revisions")
        return CheckpointFolder(_inner(path))
    if path.exists():
        raise UsageError(f"--policy.path={path_or_id} is a file; give the folder that holds {CONFIG}")
    if not HUB_ID.fullmatch(str(path_or_id)):
        raise UsageError(
            f"--policy.path={path_or_id}: there is no such folder, and it is no Hub id (owner/name) either"
        )
    return _download(str(path_or_id), revision)


def _inner(path: Path) -> Path:
    """Help who named a folder of a training run instead of the checkpoint in it."""
    if not (path / CONFIG).is_file():
        for inner in INNER:
            if (path / inner / CONFIG).is_file():
                raise UsageError(f"{path} holds no {CONFIG}; did you mean --policy.path={path / inner}?")
    return path


def _download(repo_id: str, revision: str | None) -> CheckpointFolder:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    at = f" at revision '{revision}'" if revision else ""
    try:
        path = Path(snapshot_download(repo_id, revision=revision, allow_patterns=["*.json", "*.safetensors"]))
    except GatedRepoError as error:
        raise UsageError(f"{repo_id} on the Hub is gated: accept its terms there, then `hf auth login`") from error
    except RepositoryNotFoundError as error:
        raise UsageError(
            f"there is no folder '{repo_id}' here, and no such model on the Hub; "
            "if it is private, log in with `hf auth login`"
        ) from error
    except RevisionNotFoundError as error:
        raise UsageError(f"{repo_id} on the Hub has no revision '{revision}'") from error
    except LocalEntryNotFoundError as error:
        raise UsageError(
            f"there is no folder '{repo_id}' here; {repo_id}{at} is not in the Hub's cache either, "
            "and the Hub cannot be reached (offline?)"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise UsageError(f"{repo_id}{at} cannot be downloaded from the Hub: {one_line(error)}") from error
    return CheckpointFolder(path, commit=path.name)
