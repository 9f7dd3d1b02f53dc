"""What would be asked of the Hub; it cannot be reached from where tests run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import UsageError, YardarmError
from yardarm.recording import Target, check_hub, push


class FakeHub:
    def __init__(self, has_card: bool = False, refuses: bool = False) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._has_card = has_card
        self._refuses = refuses

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> bool:
            if self._refuses:
                raise OSError("no token")
            self.calls.append((name, arguments))
            return self._has_card

        return call


def test_a_dataset_is_uploaded_and_its_version_is_tagged(tmp_path: Path) -> None:
    hub, target = FakeHub(), Target(tmp_path, "owner/name", push=True, private=True)
    check_hub(target, hub)
    assert push(target, hub) == "https://huggingface.co/datasets/owner/name"
    names = [name for name, _ in hub.calls]
    assert names == [
        *("whoami", "create_repo", "upload_folder", "file_exists", "upload_file", "delete_tag", "create_tag"),
    ]
    asked = dict(hub.calls)
    assert asked["create_repo"] == {
        "repo_id": "owner/name",
        "repo_type": "dataset",
        "private": True,
        "exist_ok": True,
    }
    assert asked["upload_folder"]["folder_path"] == str(tmp_path)
    assert asked["create_tag"]["tag"] == "v3.0"
    assert all(arguments["repo_type"] == "dataset" for name, arguments in hub.calls if name != "whoami")


def test_a_card_that_is_there_stays(tmp_path: Path) -> None:
    hub = FakeHub(has_card=True)
    push(Target(tmp_path, "owner/name", push=True), hub)
    assert "upload_file" not in dict(hub.calls)


def test_what_the_hub_refuses_is_known_before_anything_starts(tmp_path: Path) -> None:
    target = Target(tmp_path, "owner/name", push=True)
    with pytest.raises(UsageError, match=r"owner/name cannot be uploaded to the Hub .*no token.*hf auth login"):
        check_hub(target, FakeHub(refuses=True))
    with pytest.raises(YardarmError, match=r"the dataset is in .*, but not on the Hub: OSError: no token"):
        push(target, FakeHub(refuses=True))
    check_hub(Target(tmp_path, "owner/name"), FakeHub(refuses=True))  # nothing is uploaded, so nobody is asked
