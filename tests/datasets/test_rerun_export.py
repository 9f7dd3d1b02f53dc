"""Recordings for Rerun, read back by Rerun itself."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.datasets.made import FPS, WITH_ALL, make_dataset, value_of
from tests.helpers import yardarm_here
from yardarm.datasets.rerun_export import write_rerun
from yardarm.errors import SetupError, UsageError

CAMERAS = ("observation.images.top", "observation.images.wrist")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("rerun") / "toy", [5, 70], WITH_ALL)


def read_back(path: Path) -> dict[str, Any]:
    """What was written to each path, as one table after the other."""
    chunk = pytest.importorskip("rerun.chunk", reason="only newer versions of Rerun read their files by themselves")
    found: dict[str, Any] = {}
    for own in chunk.RrdReader(str(path)).stream():
        found.setdefault(own.entity_path, []).append(own.to_record_batch())
    return found


def column(batches: list[Any], name: str) -> list[Any]:
    return [value for batch in batches for value in batch.column(name).to_pylist()]


def test_an_episode_is_on_its_timelines(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    answer = yardarm_here("dataset", "view", root, f"--rerun={tmp_path / 'one.rrd'}", "--episode=1")
    assert answer.returncode == 0, answer.stderr
    assert "Wrote 1 episode to" in answer.stdout
    found = read_back(tmp_path / "one.rrd")
    state = found["/observation.state/gripper"]
    written = [value_of("observation.state", WITH_ALL["observation.state"], 1, frame)[3] for frame in range(70)]
    assert [values[0] for values in column(state, "Scalars:scalars")] == pytest.approx(written)
    assert column(state, "frame_index") == list(range(70))
    assert column(state, "index") == list(range(5, 75))
    seconds = [time / np.timedelta64(1, "s") for time in map(np.timedelta64, column(state, "timestamp"))]
    assert seconds == pytest.approx([frame / FPS for frame in range(70)], abs=1e-5)
    assert len([path for path in found if path.startswith("/matrix/")]) == 6
    assert column(found["/note"], "TextLog:text")[69] == ["note 1/69"]
    assert column(found["/task"], "TextDocument:text") == [["task 1"]]


def test_each_frame_has_its_pictures(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    write_rerun(root, tmp_path / "one.rrd", [1])
    found = read_back(tmp_path / "one.rrd")
    for key in CAMERAS:
        batches = sorted(found[f"/{key}"], key=lambda batch: batch.column("frame_index")[0].as_py())
        assert column(batches, "frame_index") == list(range(70))
        for frame, (blob,) in enumerate(column(batches, "EncodedImage:blob")):
            shown = np.array(Image.open(io.BytesIO(bytes(blob)))).astype(int)
            assert np.abs(shown - value_of(key, WITH_ALL[key], 1, frame)).mean() < 3


def test_several_episodes_are_side_by_side(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rerun")
    monkeypatch.chdir(tmp_path)
    answer = yardarm_here("dataset", "view", root, "--rerun")
    assert "Wrote 2 episodes to toy.rrd" in answer.stdout
    found = read_back(tmp_path / "toy.rrd")
    assert column(found["/episode_000000/next.success"], "frame_index") == list(range(5))
    assert column(found["/episode_000001/next.success"], "frame_index") == list(range(70))


def test_what_cannot_be_written_leaves_nothing(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    with pytest.raises(UsageError, match="the dataset has 2 episodes"):
        write_rerun(root, tmp_path / "x.rrd", [7])
    with pytest.raises(UsageError, match="cannot be written"):
        write_rerun(root, tmp_path / "nowhere" / "x.rrd", [0])
    broken = make_dataset(tmp_path / "broken", [4])
    next(broken.glob("videos/*/*/*.mp4")).write_bytes(b"nonsense")
    with pytest.raises(UsageError, match=r"file-000.mp4 is damaged"):
        write_rerun(broken, tmp_path / "x.rrd")
    assert list(tmp_path.glob("*.rrd")) == list(tmp_path.glob(".*.rrd")) == []


def test_without_rerun_one_line_says_how_to_install_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(SetupError, match=r"pip install 'yardarm\[rerun\]'"):
        write_rerun(root, Path("x.rrd"))
    answer = yardarm_here("dataset", "view", root, "--rerun")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
