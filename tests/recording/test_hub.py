"""Uploads through the Hub's real client; only the Hub is a small server here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from huggingface_hub import HfApi

from tests.datasets.made import PLAIN, make_dataset
from tests.hub_server import READER, WRITER, Hub, running_hub
from yardarm.datasets import rollouts_file
from yardarm.errors import UsageError, YardarmError
from yardarm.recording import Target, check_hub, push


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with running_hub() as hub:
        yield hub


def client(hub: Hub, token: str | bool = WRITER) -> HfApi:
    return HfApi(hub.address, token=token)


def test_a_dataset_is_uploaded_and_its_version_is_tagged(hub: Hub, tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [3, 2], PLAIN)
    target = Target(root, "owner/name", push=True, private=True)
    check_hub(target, client(hub))
    assert push(target, client(hub)) == "https://huggingface.co/datasets/owner/name"
    repository = hub.repositories["owner/name"]
    files = repository.commits[repository.refs["v3.0"]]
    stored = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert files == {**stored, "README.md": files["README.md"]}
    assert b"written by Yardarm" in files["README.md"]


def test_the_card_of_a_recording_says_so_and_has_the_users_tags(hub: Hub, tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [3], PLAIN)
    rollouts_file(root).write_text("")
    push(Target(root, "owner/tagged", push=True, tags=("sim", "it's: mine")), client(hub))
    repository = hub.repositories["owner/tagged"]
    card = repository.commits[repository.refs["v3.0"]]["README.md"].decode()
    assert yaml.safe_load(card.split("---")[1])["tags"] == ["LeRobot", "yardarm", "sim", "it's: mine"]
    assert "recorded with Yardarm" in card


def test_a_second_upload_moves_the_tag_and_leaves_the_card(hub: Hub, tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [3], PLAIN)
    target = Target(root, "owner/again", push=True)
    push(target, client(hub))
    repository = hub.repositories["owner/again"]
    first = repository.commit({"README.md": b"# Mine"})
    (root / "meta" / "more.json").write_text("{}")
    push(target, client(hub))
    files = repository.commits[repository.refs["v3.0"]]
    assert repository.refs["v3.0"] != first
    assert files["README.md"] == b"# Mine"
    assert "meta/more.json" in files


def test_what_the_hub_refuses_is_known_before_anything_starts(hub: Hub, tmp_path: Path) -> None:
    target = Target(tmp_path, "owner/name", push=True)
    with pytest.raises(UsageError, match=r"owner/name cannot be uploaded to the Hub .*hf auth login"):
        check_hub(target, client(hub, token=False))
    with pytest.raises(YardarmError, match=r"the dataset is in .*, but not on the Hub: .*rights to write"):
        push(Target(tmp_path, "owner/other", push=True), client(hub, READER))
    check_hub(Target(tmp_path, "owner/name"), client(hub, token=False))  # nothing is uploaded, so nobody is asked
