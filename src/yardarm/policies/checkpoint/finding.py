"""From a path or a Hub id to a folder on this machine."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, one_line
from yardarm.policies.checkpoint.files import CONFIG, CheckpointFolder

__all__ = ["find_checkpoint"]

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
# Where a checkpoint lies inside the folders that training makes.
INNER = ("pretrained_model", "last/pretrained_model", "checkpoints/last/pretrained_model")


def find_checkpoint(path_or_id: str | Path, revision: str | None = None) -> CheckpointFolder:
    """A local folder, or the files of a repository on the Hub, downloaded unless they are in the cache."""
    if not str(path_or_id).strip():
        raise UsageError("--policy.path is empty; give a folder with a checkpoint, or a Hub id (owner/name)")
    path = Path(path_or_id).expanduser()
    if path.is_dir():
        if revision is not None:
            raise UsageError(f"--policy.revision={revision}: {path} is a local folder, which has no revisions")
        return CheckpointFolder(_inner(path))
    if path.exists():
        raise UsageError(f"--policy.path={path_or_id} is a file; give the folder that holds {CONFIG}")
    if not HUB_ID.fullmatch(str(path_or_id)):
        raise _no_such(path_or_id)
    return _download(str(path_or_id), revision)


def _inner(path: Path) -> Path:
    """Help who named a folder of a training run instead of the checkpoint in it."""
    if not (path / CONFIG).is_file():
        for inner in INNER:
            if (path / inner / CONFIG).is_file():
                raise UsageError(
                    f"{path} holds no {CONFIG}; did you mean --policy.path={shlex.quote(str(path / inner))}?"
                )
    return path


def _download(repo_id: str, revision: str | None) -> CheckpointFolder:
    """What the Hub has, or what is in its cache if the Hub cannot be asked."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, HTTPError, LocalEntryNotFoundError
    from huggingface_hub.utils import tqdm

    class BarOnTerminals(tqdm):  # the client's own bar of files is drawn into log files too
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{"disable": None, **options})

    refusal = None
    try:
        refusal = _refusal(repo_id, revision)
        path = snapshot_download(
            repo_id,
            revision=revision,
            local_files_only=refusal is not None,
            allow_patterns=["*.json", "*.safetensors"],
            ignore_patterns=["*/*"],  # the state of training may lie in folders, and is large
            tqdm_class=BarOnTerminals,
        )
    except HFValidationError as error:
        raise _no_such(repo_id) from error
    except LocalEntryNotFoundError as error:
        raise _explained(refusal or error.__cause__ or error, repo_id, revision) from error
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        raise _explained(error, repo_id, revision) from error
    return CheckpointFolder(Path(path), commit=Path(path).name)


def _refusal(repo_id: str, revision: str | None) -> BaseException | None:
    """Why the Hub does not answer for this repository, or None.

    Asked first and once, with a time limit: `snapshot_download` would wait for a silent server without end, and ask an
    unreachable one for a given commit again and again for half a minute.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
    from huggingface_hub.errors import HTTPError, RevisionNotFoundError

    try:
        info = HfApi().model_info(repo_id, revision=revision, timeout=HF_HUB_ETAG_TIMEOUT)
    except RevisionNotFoundError:  # the cache may have what was deleted since
        raise
    except (HTTPError, OSError) as error:
        return error
    files = [file.rfilename for file in info.siblings or ()]
    if CONFIG not in files:
        listed = ", ".join(files[:12]) + (", …" if len(files) > 12 else "")
        raise UsageError(f"{repo_id} on the Hub has no {CONFIG}, so it is no checkpoint; it has {listed or 'no files'}")
    return None


def _explained(error: BaseException, repo_id: str, revision: str | None) -> UsageError:
    from huggingface_hub.constants import ENDPOINT
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    at = f" at revision '{revision}'" if revision else ""
    absent = f"there is no folder '{repo_id}' here; {repo_id}{at} is not in the Hub's cache either"
    match error:
        case GatedRepoError():
            return UsageError(f"{repo_id} on the Hub is gated: accept its terms there, then `hf auth login`")
        case RepositoryNotFoundError():
            return UsageError(
                f"there is no folder '{repo_id}' here, and no such model on the Hub; "
                "if it is private, log in with `hf auth login`"
            )
        case RevisionNotFoundError():
            return UsageError(f"{repo_id} on the Hub has no revision '{revision or 'main'}'")
        case OfflineModeIsEnabled():
            return UsageError(f"{absent}, and HF_HUB_OFFLINE forbids to download it")
        case HTTPError() if not isinstance(error, HfHubHTTPError):  # no answer at all
            return UsageError(f"{absent}, and the Hub ({ENDPOINT}) cannot be reached: {one_line(error)}")
    return UsageError(f"{repo_id}{at} cannot be downloaded from the Hub: {one_line(error)}")


def _no_such(path_or_id: str | Path) -> UsageError:
    return UsageError(f"--policy.path={path_or_id}: there is no such folder, and it is no Hub id (owner/name) either")
