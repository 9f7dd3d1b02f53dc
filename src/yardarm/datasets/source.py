"""Finds a dataset: in a folder, in LeRobot's cache, or on the Hub."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.selection import select_episodes
from yardarm.errors import DatasetFault, UsageError
from yardarm.hub import HUB_ID, HubFiles, download

__all__ = ["check_files", "default_root", "find_dataset", "find_metadata"]

# Datasets are tagged with the version of their format; these can be read, newest first.
VERSIONS = ("v3.0", "v2.1", "v2.0")


def lerobot_home() -> Path:
    """Where LeRobot stores datasets."""
    if home := os.environ.get("HF_LEROBOT_HOME"):
        return Path(home).expanduser()
    hub_home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(hub_home).expanduser() / "lerobot"


def default_root(repo_id: str) -> Path:
    """Where a dataset of this name is by default."""
    if not HUB_ID.fullmatch(repo_id):
        raise UsageError(f"a dataset's name must be owner/name, got '{repo_id}'; or give its folder as root")
    return lerobot_home() / repo_id


def find_dataset(
    repo_id: str,
    root: str | Path | None = None,
    revision: str | None = None,
    episodes: Sequence[int] | None = None,
    videos: bool = True,
) -> Path:
    """A dataset's folder; from the Hub, missing files of the selected episodes are downloaded."""
    if local := _local(repo_id, root, revision):
        return local
    folder, revision = _download_metadata(repo_id, revision)
    meta = read_metadata(folder)
    chosen = select_episodes(episodes, meta.total_episodes)
    wanted = [path.relative_to(folder).as_posix() for path in _files(meta, chosen, videos)]
    if all((folder / path).exists() for path in wanted):
        return folder
    folder = download(_on_the_hub(repo_id, revision, (*META, *wanted)))
    check_files(meta, chosen, videos)
    return folder


def check_files(meta: DatasetMetadata, episodes: Sequence[int], videos: bool = True) -> None:
    """Raise if files of these episodes are missing on this machine."""
    missing = [path for path in _files(meta, episodes, videos) if not path.is_file()]
    if missing:
        more = f", and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        raise DatasetFault(f"{missing[0]}{more} missing; the dataset is incomplete")


def find_metadata(repo_id: str, root: str | Path | None = None, revision: str | None = None) -> tuple[Path, str | None]:
    """The folder of a dataset's metadata, and the Hub revision if the frames have to be fetched from there."""
    if local := _local(repo_id, root, revision):
        return local, None
    return _download_metadata(repo_id, revision)


META = ("meta/*",)


def _local(repo_id: str, root: str | Path | None, revision: str | None) -> Path | None:
    if root is not None:
        if revision is not None:
            raise UsageError(f"revision={revision} is for the Hub, but root={root} is a folder; omit one of them")
        return Path(root).expanduser()
    if not repo_id:
        raise UsageError("which dataset? Give its name on the Hub (owner/name), or its folder as root")
    if revision is None:
        for folder in (Path(repo_id).expanduser(), lerobot_home() / repo_id):
            if (folder / "meta" / "info.json").exists():
                return folder
    if not HUB_ID.fullmatch(repo_id):
        raise UsageError(f"there is no dataset '{repo_id}' here, and it is not a Hub id (owner/name) either")
    return None


def _download_metadata(repo_id: str, revision: str | None) -> tuple[Path, str]:
    folder = download(_on_the_hub(repo_id, revision or _newest_version(repo_id), META))
    return folder, folder.name  # the commit, so that the frames come from the same one


def _on_the_hub(repo_id: str, revision: str | None, allow: tuple[str, ...]) -> HubFiles:
    cache = lerobot_home() / "hub"
    return HubFiles(repo_id, revision, "dataset", "meta/info.json", allow, repo_type="dataset", cache=cache)


def _newest_version(repo_id: str) -> str | None:
    """The tag of the newest format in the repository, or in the cache if the Hub does not answer."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HTTPError

    try:
        tags = {tag.name for tag in HfApi().list_repo_refs(repo_id, repo_type="dataset").tags}
    except (HTTPError, OSError):
        cache = lerobot_home() / "hub"
        tags = {
            version
            for version in VERSIONS
            if isinstance(
                try_to_load_from_cache(
                    repo_id, "meta/info.json", cache_dir=cache, revision=version, repo_type="dataset"
                ),
                str,
            )
        }
    return next((version for version in VERSIONS if version in tags), None)


def _files(meta: DatasetMetadata, chosen: Sequence[int], videos: bool) -> list[Path]:
    episodes = [meta.episodes[number] for number in chosen]
    found = [meta.data_file(episode) for episode in episodes]
    if videos:
        found += [meta.video_file(episode, key) for key in meta.info.video_keys for episode in episodes]
    return list(dict.fromkeys(found))
