"""Uploads a dataset to the Hugging Face Hub."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from yardarm.datasets import rollouts_file
from yardarm.errors import UsageError, YardarmError, one_line
from yardarm.recording.config import Target

__all__ = ["check_hub", "push"]

TAG = "v3.0"
TAGS = ("LeRobot", "yardarm")
CARD = """\
---
tags: {tags}
task_categories: [robotics]
configs:
- config_name: default
  data_files: data/*/*.parquet
---
{about}
"""
RECORDED = (
    f"Rollouts in simulation in LeRobot's dataset format ({TAG}), recorded with Yardarm. `meta/rollouts.jsonl` has a "
    "line for\neach episode: policy, task, seed, and how it went."
)
OTHER = f"A dataset in LeRobot's format ({TAG}), written by Yardarm."


def check_hub(target: Target, api: Any = None) -> None:
    """Ask the Hub who this is before anything slow starts, so that an upload that is not allowed is refused now."""
    if not target.push:
        return
    from huggingface_hub.errors import HTTPError

    try:
        (api or _api()).whoami()
    except (HTTPError, OSError, ValueError) as error:
        raise UsageError(
            f"{target.repo_id} cannot be uploaded to the Hub ({one_line(error)}); log in with `hf auth login`"
        ) from error


def push(target: Target, api: Any = None) -> str:
    """Upload the dataset, and mark its version as LeRobot looks for it; returns its address."""
    from huggingface_hub.errors import HTTPError, RevisionNotFoundError

    api, repo = api or _api(), {"repo_id": target.repo_id, "repo_type": "dataset"}
    try:
        api.create_repo(**repo, private=target.private, exist_ok=True)
        api.upload_folder(**repo, folder_path=str(target.root), ignore_patterns=[".*", "*/.*"])
        if not api.file_exists(**repo, filename="README.md"):
            api.upload_file(**repo, path_or_fileobj=_card(target).encode(), path_in_repo="README.md")
        with contextlib.suppress(RevisionNotFoundError):  # the first upload has none
            api.delete_tag(**repo, tag=TAG)
        api.create_tag(**repo, tag=TAG)
    except (HTTPError, OSError, ValueError) as error:
        raise YardarmError(
            f"the dataset is in {target.root}, but not on the Hub: {one_line(error)}; the same command tries it again"
        ) from error
    return f"https://huggingface.co/datasets/{target.repo_id}"


def _card(target: Target) -> str:
    about = RECORDED if rollouts_file(target.root).exists() else OTHER
    # JSON is YAML, and quotes what a tag may contain.
    return CARD.format(tags=json.dumps([*TAGS, *target.tags], ensure_ascii=False), about=about)


def _api() -> Any:
    from huggingface_hub import HfApi

    return HfApi()
