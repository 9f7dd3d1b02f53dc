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


def test_an_id_is_the_users_folder_before_one_that_happens_to_be_here(
    tmp_path: Path, written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _ = written(REPO), written(f"hub/{REPO}")
    assert found(Repositories(tmp_path / "hub"), str(own)) == own
    monkeypatch.chdir(tmp_path)
    assert found(Repositories(tmp_path / "hub")) == tmp_path / "hub" / REPO
    assert found(Repositories(tmp_path / "hub"), f"./{REPO}") == Path(REPO)
    assert found(Repositories()) == Path(REPO)


@pytest.mark.parametrize("name", ["../model", "owner/..", "./model", "/etc/model", "a/b/model", "model", "", "a/" * 99])
def test_the_users_folder_has_ids_only(name: str, tmp_path: Path, written: Callable[[str], Path]) -> None:
    for place in ("model", "hub/model", "hub", "hub/owner", "hub/a/b/model"):
        written(place)
    assert Repositories(tmp_path / "hub").local(name, FILE) is None


@pytest.mark.parametrize("name", ["~nouser/x", "a/" + "b" * 5000, "a\0/b", "../none", " "])
def test_what_cannot_be_a_name_is_refused_in_one_line(name: str, tmp_path: Path, offline: None) -> None:
    with pytest.raises(UsageError, match=r"^the policy's tokenizer needs|^the policy names no tokenizer") as refusal:
        found(Repositories(tmp_path), name)
    assert "\n" not in str(refusal.value)


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
    with pytest.raises(UsageError, match=r"hub_dir must be the path of a folder, not 5"):
        Repositories(5)  # type: ignore[arg-type]
    for name in ("~nouser/x", "a" * 5000):
        with pytest.raises(UsageError, match=r"does not exist; give a folder laid out"):
            Repositories(name)
