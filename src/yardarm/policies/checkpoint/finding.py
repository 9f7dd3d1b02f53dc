"""From a path or a Hub id to a folder on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.hub import HUB_ID, HubFiles, Repositories, download, existing
from yardarm.policies.checkpoint.files import CONFIG, CheckpointFolder
from yardarm.policies.processing import POSTPROCESSOR, PREPROCESSOR

__all__ = ["find_checkpoint"]

# Beside configuration and weights, files of processing steps may have any ending.
FILES = ("*.json", "*.safetensors", f"{PREPROCESSOR}_step_*", f"{POSTPROCESSOR}_step_*")
# A training's checkpoint holds the policy in this folder, beside the state of the training.
POLICY = "pretrained_model"
# Where the newest checkpoint lies inside the folders that training makes.
NEWEST = (f"last/{POLICY}", f"checkpoints/last/{POLICY}")


def find_checkpoint(
    path_or_id: str | Path, revision: str | None = None, repositories: Repositories | None = None
) -> CheckpointFolder:
    """A local folder, or the files of a repository on the Hub, downloaded unless they are in a cache of it."""
    if not str(path_or_id).strip():
        raise UsageError("--policy.path is empty; give a folder with a checkpoint, or a Hub id (owner/name)")
    path = existing(path_or_id)
    if path is not None and path.is_dir():
        if revision is not None:
            raise UsageError(f"--policy.revision={revision}: {path} is a local folder, which has no revisions")
        return CheckpointFolder(_inner(path))
    if path is not None:
        raise UsageError(f"--policy.path={path_or_id} is a file; give the folder that holds {CONFIG}")
    if not HUB_ID.fullmatch(str(path_or_id)):
        raise UsageError(
            f"--policy.path={path_or_id}: there is no such folder, and it is not a Hub id (owner/name) either"
        )
    if repositories is not None and (local := repositories.local(str(path_or_id), CONFIG)) is not None:
        if revision is not None:
            raise UsageError(f"--policy.revision={revision}: {local} is a local folder, which has no revisions")
        return CheckpointFolder(local)
    # The state of training may lie in folders, and is large.
    wanted = HubFiles(str(path_or_id), revision, "checkpoint", CONFIG, FILES, ignore=("*/*",))
    downloaded = download(wanted)
    return CheckpointFolder(downloaded, commit=downloaded.name)


def _inner(path: Path) -> Path:
    """The folder of the policy itself; helps a user who named a training's folder instead of a checkpoint in it."""
    if (path / CONFIG).is_file():
        return path
    if (path / POLICY / CONFIG).is_file():
        return path / POLICY
    for inner in NEWEST:
        if (path / inner / CONFIG).is_file():
            meant = shlex.quote(str(path / inner))
            every = f"; {path / 'checkpoints'} means all of them" if inner.startswith("checkpoints/") else ""
            raise UsageError(f"{path} holds no {CONFIG}; did you mean --policy.path={meant}?{every}")
    return path
