"""Datasets from the Hub, through its real client; only the Hub is a small server here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.made import WITH_VIDEO, make_dataset
from tests.hub_server import Files, Hub, running_hub
from yardarm.datasets.source import default_root, find_dataset, lerobot_home
from yardarm.errors import UsageError

PREAMBLE = """
import json
from yardarm.datasets import LeRobotDataset, StreamingLeRobotDataset
from yardarm.errors import UsageError

def told(kind, *arguments, **options):
    try:
        dataset = kind(*arguments, **options)
        pictures = [float(item["observation.images.top"].mean()) for item in dataset]
    except UsageError as error:
        return str(error)
    files = sorted(path.relative_to(dataset.root).as_posix() for path in dataset.root.rglob("*") if path.is_file())
    return {"frames": len(pictures), "pictures": sum(pictures), "files": files, "commit": dataset.root.name}
"""


def files_of(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"data_files_size_in_mb": 0.001, "video_files_size_in_mb": 0.001}  # a file for each episode
    return make_dataset(tmp_path_factory.mktemp("source") / "made", [4, 3, 5], WITH_VIDEO, **settings)


@pytest.fixture(scope="module")
def hub(made: Path) -> Iterator[Hub]:
    with running_hub() as hub:
        repository = hub.add("lab/toy", {"README.md": b"# Older", **files_of(made)})
        repository.commit({}, "v3.0")
        repository.commit({"README.md": b"# Newer, and not tagged"})
        hub.add("lab/untagged", files_of(made))
        hub.add("lab/readme", {"README.md": b"# Soon"})
        yield hub


def answers(expressions: dict[str, str], hub: Hub, home: Path, **environment: str) -> dict[str, Any]:
    """What expressions amount to, one after the other, in a process of its own."""
    home.mkdir(exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    client = {"HF_ENDPOINT": hub.address, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", f"{PREAMBLE}\nprint(json.dumps([{', '.join(expressions.values())}]))"],
        **{"env": {**own, **client, **environment}, "cwd": home, "capture_output": True, "text": True, "timeout": 100},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(expressions, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.fixture(scope="module")
def told(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("home") / "hf"
    expressions = {
        "streamed": "told(StreamingLeRobotDataset, 'lab/toy', shuffle=False, episodes=[1])",
        "some": "told(LeRobotDataset, 'lab/toy', episodes=[1])",
        "all": "told(LeRobotDataset, 'lab/toy')",
        "untagged": "told(LeRobotDataset, 'lab/untagged', revision='main')",
        "nothing": "told(LeRobotDataset, 'lab/nothing')",
        "readme": "told(LeRobotDataset, 'lab/readme')",
        "revision": "told(LeRobotDataset, 'lab/toy', revision='v9')",
        "beyond": "told(LeRobotDataset, 'lab/toy', episodes=[7])",
    }
    online = answers(expressions, hub, home)
    asked = list(hub.asked)
    offline = answers({"offline": "told(LeRobotDataset, 'lab/toy')"}, hub, home, HF_HUB_OFFLINE="1")
    assert hub.asked == asked
    return {**online, **offline, "asked": asked}


def test_the_tagged_version_is_downloaded(told: dict[str, Any], hub: Hub) -> None:
    assert told["all"]["frames"] == 12
    assert told["all"]["commit"] == hub.repositories["lab/toy"].refs["v3.0"]
    assert told["untagged"]["frames"] == 12


def test_some_episodes_bring_their_files_only(told: dict[str, Any]) -> None:
    assert told["some"]["frames"] == 3
    files = [name for name in told["some"]["files"] if not name.startswith("meta/")]
    assert files == ["data/chunk-000/file-001.parquet", "videos/observation.images.top/chunk-000/file-001.mp4"]


def test_a_stream_fetches_parts_and_keeps_nothing(told: dict[str, Any]) -> None:
    assert told["streamed"]["frames"] == 3
    assert told["streamed"]["pictures"] == told["some"]["pictures"]
    assert all(name.startswith("meta/") for name in told["streamed"]["files"])
    parts = [line for line in told["asked"] if line.rsplit(" ", 1)[-1].replace("-", "").isdecimal()]
    assert any("file-001.parquet" in line for line in parts)
    assert any("file-001.mp4" in line for line in parts)


def test_what_was_downloaded_is_there_without_the_hub(told: dict[str, Any]) -> None:
    assert told["offline"] == told["all"]


@pytest.mark.parametrize(
    ("which", "complaint"),
    [
        ("nothing", "no such dataset on the Hub; if it is private, log in"),
        ("readme", "lab/readme on the Hub has no meta/info.json, so no dataset can be loaded from it"),
        ("revision", "lab/toy on the Hub has no revision 'v9'"),
        ("beyond", "episodes 7: the dataset has 3 episodes, 0 to 2"),
    ],
)
def test_what_cannot_be_had_is_told(told: dict[str, Any], which: str, complaint: str) -> None:
    assert complaint in told[which]


def test_lerobots_home_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Path) -> None:
    for name in ("HF_LEROBOT_HOME", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert lerobot_home() == Path.home() / ".cache/huggingface/lerobot"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert default_root("lab/toy") == tmp_path / "hf/lerobot/lab/toy"
    monkeypatch.setenv("HF_LEROBOT_HOME", str(made.parent))
    with pytest.raises(UsageError, match="owner/name, got 'made'"):
        default_root("made")
    assert find_dataset("made") == made
    assert find_dataset(str(made)) == made
    with pytest.raises(UsageError, match="which dataset"):
        find_dataset("")
    with pytest.raises(UsageError, match="it is not a Hub id"):
        find_dataset("a/b/c")
    with pytest.raises(UsageError, match="omit one of them"):
        find_dataset("lab/toy", made, revision="main")
