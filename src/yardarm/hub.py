"""Repositories of the Hugging Face Hub: in a folder that stands for it, in its cache, or downloaded; and hashes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, one_line

__all__ = ["HUB_ID", "HubFiles", "Repositories", "download", "existing", "hash_of_files"]

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
# The Hub allows no longer ones; nor could they be folders.
LONGEST_ID = 96
# What others may only have after they accepted a licence.
GATED = ("google/paligemma-3b-pt-224", "nvidia/Cosmos-Reason2-2B")


@dataclass(frozen=True, slots=True)
class HubFiles:
    """Which files of a repository to download."""

    repo_id: str
    revision: str | None
    kind: str
    """What it should be, for messages: a checkpoint, an environment, a dataset."""
    must_have: str
    """The file that every repository of this kind has."""
    allow: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    repo_type: str = "model"
    cache: Path | None = None
    """Where to store it, if not in the Hub's usual cache."""


def download(files: HubFiles) -> Path:
    """Download files, or find them in the cache if the Hub is unreachable; the folder is named after the commit."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, HTTPError, LocalEntryNotFoundError
    from huggingface_hub.utils import tqdm

    class BarOnTerminals(tqdm):  # the client's own progress bar would also be drawn into log files
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{"disable": None, **options})

    refusal = None
    try:
        refusal = _refusal(files)
        path = snapshot_download(
            files.repo_id,
            repo_type=files.repo_type,
            revision=files.revision,
            cache_dir=files.cache,
            local_files_only=refusal is not None,
            allow_patterns=list(files.allow),
            ignore_patterns=list(files.ignore),
            tqdm_class=BarOnTerminals,
        )
    except HFValidationError as error:
        missing = "there is no such folder, and it is not a Hub id (owner/name) either"
        raise UsageError(f"'{files.repo_id}': {missing}") from error
    except LocalEntryNotFoundError as error:
        raise _explained(refusal or error.__cause__ or error, files) from error
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        raise _explained(error, files) from error
    return Path(path)


def _refusal(files: HubFiles) -> BaseException | None:
    """The error with which the Hub refuses this repository, or None.

    This asks once, with a time limit, before the download: `snapshot_download` would wait forever for a silent server,
    and retry an unreachable one for half a minute when given a commit.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_ETAG_TIMEOUT
    from huggingface_hub.errors import HTTPError, RevisionNotFoundError

    try:
        info = HfApi().repo_info(
            files.repo_id, repo_type=files.repo_type, revision=files.revision, timeout=HF_HUB_ETAG_TIMEOUT
        )
    except RevisionNotFoundError:  # the cache may have a revision that has since been deleted
        raise
    except (HTTPError, OSError) as error:
        return error
    there = [file.rfilename for file in info.siblings or ()]
    if files.must_have not in there:
        listed = ", ".join(there[:12]) + (", …" if len(there) > 12 else "")
        raise UsageError(
            f"{files.repo_id} on the Hub has no {files.must_have}, so no {files.kind} can be loaded from it; "
            f"it has {listed or 'no files'}"
        )
    return None


def _explained(error: BaseException, files: HubFiles) -> UsageError:
    from huggingface_hub.constants import ENDPOINT
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repo_id, revision = files.repo_id, files.revision
    at = f" at revision '{revision}'" if revision else ""
    absent = f"there is no folder '{repo_id}' here; {repo_id}{at} is not in the Hub's cache either"
    match error:
        case GatedRepoError():
            return UsageError(f"{repo_id} on the Hub is gated: accept its terms there, then `hf auth login`")
        case RepositoryNotFoundError():
            return UsageError(
                f"there is no folder '{repo_id}' here, and no such {files.repo_type} on the Hub; "
                "if it is private, log in with `hf auth login`"
            )
        case RevisionNotFoundError():
            return UsageError(f"{repo_id} on the Hub has no revision '{revision or 'main'}'")
        case OfflineModeIsEnabled():
            return UsageError(f"{absent}, and HF_HUB_OFFLINE forbids downloads")
        case HTTPError() if not isinstance(error, HfHubHTTPError):  # no answer at all
            return UsageError(f"{absent}, and the Hub ({ENDPOINT}) cannot be reached: {one_line(error)}")
    return UsageError(f"{repo_id}{at} cannot be downloaded from the Hub: {one_line(error)}")


@dataclass(frozen=True, slots=True)
class Repositories:
    """Where the repositories are looked for that a policy names: its tokenizer, its vision-language model.

    A name of the form ``owner/name`` is looked for in `hub_dir`, which is laid out ``<owner>/<name>/…``; then as a
    folder, as any other name is; then in the Hub's cache, and on the Hub. Code that lies in a repository is never run.
    """

    hub_dir: str | Path | None = None

    def __post_init__(self) -> None:
        if self.hub_dir is None:
            return
        if not isinstance(self.hub_dir, str | Path):
            raise UsageError(f"hub_dir must be the path of a folder, not {self.hub_dir!r}")
        if not str(self.hub_dir).strip():
            raise UsageError("--policy.hub_dir is empty; give a folder laid out <owner>/<name>/…")
        path = existing(self.hub_dir)
        if path is None or not path.is_dir():
            fault = "is a file" if path is not None else "does not exist"
            raise UsageError(f"--policy.hub_dir={self.hub_dir} {fault}; give a folder laid out <owner>/<name>/…")
        object.__setattr__(self, "hub_dir", path.absolute())

    def local(self, repo_id: str, must_have: str) -> Path | None:
        """The folder of a repository in `hub_dir`, if it is there and has this file; never one outside of it."""
        if self.hub_dir is None or not _is_id(repo_id):
            return None
        folder = Path(self.hub_dir) / repo_id
        return folder if (folder / must_have).is_file() else None

    def folder(self, repo_id: str, must_have: str, allow: tuple[str, ...], kind: str) -> Path:
        """The folder of a repository that has a file, downloaded if need be; `allow` are patterns of what is wanted.

        `kind` says what it is for messages, like "tokenizer".
        """
        if not repo_id.strip():
            raise UsageError(f"the policy names no {kind}: its name is empty")
        if (local := self.local(repo_id, must_have)) is not None:
            return local
        if (named := existing(repo_id)) is not None and named.is_dir():
            if not (named / must_have).is_file():
                raise UsageError(f"the {kind} in {named} has no {must_have}")
            return named
        try:
            found = download(HubFiles(repo_id, None, kind, must_have, (must_have, *allow), ignore=("*/*",)))
        except UsageError as error:
            raise self._missing(repo_id, must_have, kind, str(error)) from error
        if not (found / must_have).is_file():
            raise self._missing(repo_id, must_have, kind, f"{found}, in the Hub's cache, has no {must_have}")
        return found

    def _missing(self, repo_id: str, must_have: str, kind: str, reason: str) -> UsageError:
        licence = f"accept its licence on https://huggingface.co/{repo_id}, and " if repo_id in GATED else ""
        looked = f"{Path(self.hub_dir) / repo_id} has none; " if self.hub_dir is not None else ""
        return UsageError(
            f"the policy's {kind} needs {must_have} of {repo_id}: {looked}{reason}; {licence}put its files into "
            f"DIR/{repo_id}/ and give --policy.hub_dir=DIR"
        )


def existing(name: str | Path) -> Path | None:
    """The folder or file of this name, if there is one; what cannot be a path at all is none."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, the home of nobody, or with a zero byte
        return None


def _is_id(name: str) -> bool:
    """Whether a name is of the form ``owner/name``, and leads to no other folder."""
    return bool(HUB_ID.fullmatch(name)) and len(name) <= LONGEST_ID and not any(p[0] == "." for p in name.split("/"))


def hash_of_files(folder: Path, pattern: str) -> str:
    """A short hash of a folder's files: changed code, or a changed scene, makes another environment."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file() and not _is_byproduct(path)):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _is_byproduct(path: Path) -> bool:
    return any(part in ("__pycache__", ".git", ".cache") for part in path.parts)
