"""Files that are missing, cut short or damaged are named, and nothing else is blamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.datasets.made import WITH_ALL, make_dataset
from yardarm.datasets import LeRobotDataset
from yardarm.errors import DatasetFault, UsageError

DATA = "data/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.top/chunk-000/file-000.mp4"
ROWS = "meta/episodes/chunk-000/file-000.parquet"


def read_all(root: Path) -> None:
    for _ in LeRobotDataset(root=root):
        pass


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def scribble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 4)
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("file", [DATA, VIDEO, ROWS, "meta/tasks.parquet", "meta/stats.json"])
@pytest.mark.parametrize("damage", [cut, scribble, empty])
def test_a_damaged_file_is_named(tmp_path: Path, file: str, damage: Callable[[Path], None]) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    damage(root / file)
    with pytest.raises(DatasetFault, match=file.rsplit("/", 1)[-1]) as raised:
        read_all(root)
    assert str(root / file) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("file", [DATA, VIDEO, "meta/tasks.parquet"])
def test_a_missing_file_is_named(tmp_path: Path, file: str) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    (root / file).unlink()
    with pytest.raises(DatasetFault, match="is missing") as raised:
        read_all(root)
    assert str(root / file) in str(raised.value)


def test_rows_that_are_missing_are_counted(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    table = pq.read_table(root / DATA)
    pq.write_table(table.slice(0, 9), root / DATA)
    with pytest.raises(DatasetFault, match="3 of the 5 frames of episode 1"):
        read_all(root)


def test_episodes_that_are_missing_are_counted(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, "total_episodes": 4}))
    with pytest.raises(DatasetFault, match="lacks 2 of 4 episodes: 2, 3"):
        read_all(root)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    pq.write_table(pq.read_table(root / DATA).drop_columns(["action"]), root / DATA)
    with pytest.raises(DatasetFault, match="no column 'action'"):
        read_all(root)


def test_a_video_that_is_too_short_is_told_by_the_time(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    other = make_dataset(tmp_path / "other", [6, 2], WITH_ALL)
    (root / VIDEO).write_bytes((other / VIDEO).read_bytes())
    dataset = LeRobotDataset(root=root)
    assert dataset[7] is not None
    with pytest.raises(DatasetFault, match=r"no frame at 0\.8000 s within the tolerance"):
        dataset[8]
    assert dataset[7] is not None  # the reader has not lost its way


def test_timestamps_that_do_not_fit_are_not_rounded(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6], WITH_ALL)
    table = pq.read_table(root / DATA)
    place = table.schema.get_field_index("timestamp")
    shifted = (table["timestamp"].to_numpy() + 0.03).astype("float32")
    pq.write_table(table.set_column(place, "timestamp", [shifted]), root / DATA)
    dataset = LeRobotDataset(root=root)
    with pytest.raises(DatasetFault, match=r"no frame at 0\.2300 s within the tolerance"):
        dataset[2]
    assert LeRobotDataset(root=root, tolerance_s=0.04)[2] is not None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is damaged"),
        ("[]", "is damaged"),
        ("{}", "is damaged"),
        ('{"fps": 0, "features": {}, "codebase_version": "v3.0"}', "fps must be a number above 0"),
        ('{"fps": 10, "features": {}, "codebase_version": "v1.6"}', "version v1.6"),
        ('{"fps": 10, "features": {}, "codebase_version": "v4.0"}', "version v4.0"),
    ],
)
def test_a_bad_info_file_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "made/meta").mkdir(parents=True)
    (tmp_path / "made/meta/info.json").write_text(content)
    with pytest.raises(UsageError, match=complaint):
        LeRobotDataset(root=tmp_path / "made")


def test_what_is_no_dataset_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no dataset"):
        LeRobotDataset(root=tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"is no LeRobot dataset: it has no meta/info\.json"):
        LeRobotDataset(root=tmp_path)
