"""A folder stands for the Hub, and what is missing is named in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from yardarm import hub
from yardarm.errors import UsageError
from yardarm.hub import HubFiles, Repositories

REPO = "owner/model"
FILE = "tokenizer_config.json"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Hub that has nothing; its real client is tested with a server, in tests/policies/test_hub.py."""

    def refused(files: HubFiles) -> Path:
        raise UsageError(f"{files.repo_id} is not in the Hub's cache, and HF_HUB_OFFLINE forbids downloads")

    monkeypatch.setattr(hub, "download", refused)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        path = tmp_path / name / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        return path.parent

    return write


def found(repositories: Repositories, repo_id: str = REPO) -> Path:
    return repositories.folder(repo_id, FILE, ("*.json",), "tokenizer")


def test_a_folder_of_that_name_comes_first(
    tmp_path: Path, written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _ = written(REPO), written(f"hub/{REPO}")
    assert found(Repositories(tmp_path / "hub"), str(own)) == own
    monkeypatch.chdir(tmp_path)
    assert found(Repositories(tmp_path / "hub")) == Path(REPO)


def test_the_users_folder_comes_before_the_hub(tmp_path: Path, written: Callable[[str], Path], offline: None) -> None:
    folder = written(f"hub/{REPO}")
    assert found(Repositories(str(tmp_path / "hub"))) == folder
    assert Repositories(tmp_path / "hub").local(REPO, "other.json") is None
    assert Repositories().local(REPO, FILE) is None


def test_the_hub_is_asked_for_the_file_and_what_else_is_wanted(
    tmp_path: Path, written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[HubFiles] = []
    cached = written("cache")
    monkeypatch.setattr(hub, "download", lambda files: asked.append(files) or cached)
    assert found(Repositories()) == cached
    assert (asked[0].repo_id, asked[0].must_have, asked[0].allow) == (REPO, FILE, (FILE, "*.json"))


def test_a_cache_that_lacks_the_file_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "download", lambda files: tmp_path)
    with pytest.raises(UsageError, match=f"needs {FILE} of {REPO}: {tmp_path}, in the Hub's cache, has no {FILE}; put"):
        found(Repositories())


def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path, offline: None) -> None:
    with pytest.raises(UsageError) as refusal:
        found(Repositories(tmp_path))
    assert str(refusal.value) == (
        f"the policy's tokenizer needs {FILE} of {REPO}: {tmp_path / REPO} has none; {REPO} is not in the Hub's cache, "
        f"and HF_HUB_OFFLINE forbids downloads; put its files into DIR/{REPO}/ and give --policy.hub_dir=DIR"
    )


@pytest.mark.parametrize("repo_id", ["google/paligemma-3b-pt-224", "nvidia/Cosmos-Reason2-2B"])
def test_a_gated_repository_is_named_with_its_licence(repo_id: str, offline: None) -> None:
    with pytest.raises(UsageError, match=f"accept its licence on https://huggingface.co/{repo_id}, and put its files"):
        found(Repositories(), repo_id)


def test_a_folder_that_is_named_must_have_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"the tokenizer in {tmp_path} has no {FILE}"):
        found(Repositories(), str(tmp_path))


def test_a_folder_for_the_hub_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--policy.hub_dir=.*/file is a file; give a folder laid out <owner>/<name>"):
        Repositories(tmp_path / "file")
    with pytest.raises(UsageError, match=r"--policy.hub_dir=.*/none does not exist; give a folder"):
        Repositories(tmp_path / "none")
    with pytest.raises(UsageError, match=r"--policy.hub_dir is empty"):
        Repositories("")
