"""Files that are missing, cut short or damaged are named, and nothing else is blamed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.datasets.made import PLAIN, WITH_ALL, WITH_VIDEO, make_dataset
from yardarm.datasets import LeRobotDataset
from yardarm.errors import DatasetFault, UsageError

DATA = "data/chunk-000/file-000.parquet"
VIDEO = "videos/observation.images.top/chunk-000/file-000.mp4"
ROWS = "meta/episodes/chunk-000/file-000.parquet"


READ_FRAMES = """
import sys
from pathlib import Path
from yardarm.datasets.frames import read_frames
from yardarm.datasets.metadata import read_metadata
meta = read_metadata(Path(sys.argv[1]))
read_frames(meta, meta.episodes)
"""


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


def test_a_schema_that_does_not_fit_its_statistics_does_not_end_the_process(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [6, 5], PLAIN)
    content = (root / DATA).read_bytes()
    # In the footer's schema: the type of `index` (INT64 is 2, twice that as a signed number), before its repetition.
    place = content.rindex(b"\x15\x04\x25\x02\x18\x05index")
    (root / DATA).write_bytes(content[: place + 1] + b"\x06" + content[place + 2 :])
    # Elsewhere, because pyarrow may end the process.
    done = subprocess.run([sys.executable, "-c", READ_FRAMES, root], capture_output=True, text=True)
    assert f"DatasetFault: {root / DATA} is damaged" in done.stderr.splitlines()[-1], (done.returncode, done.stderr)


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


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"fps": "10"}, "fps must be a number, got '10'"),
        ({"fps": float("inf")}, "fps must be a finite number, got inf"),
        ({"total_frames": "11"}, "total_frames must be a whole number, got '11'"),
        ({"total_episodes": float("nan")}, "total_episodes must be a whole number, got nan"),
        ({"total_tasks": -1}, "total_tasks must be 0 or more, got -1"),
        ({"codebase_version": 3}, "codebase_version must be text, got 3"),
        (
            {"features": {"action": {"dtype": "float32", "shape": ["2"]}}},
            r"features\.action\.shape\[0\] must be a whole",
        ),
        ({"features": {"action": {"dtype": "float32", "shape": [10**9]}}}, "has more than 1000000 numbers"),
        ({"video_path": None}, r"video_path is missing, although 'observation\.images\.top' is stored in videos"),
    ],
)
def test_a_wrong_value_in_info_is_told_by_its_name(tmp_path: Path, change: dict, complaint: str) -> None:
    root = make_dataset(tmp_path / "made", [2], WITH_VIDEO)
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, **change}))
    with pytest.raises(DatasetFault, match=rf"info\.json is damaged: .*{complaint}"):
        read_all(root)


def test_episodes_that_nobody_could_count_are_not_counted(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [2], PLAIN)
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, "total_episodes": 10**15}))
    with pytest.raises(DatasetFault, match=f"lacks {10**15 - 1} of {10**15} episodes: 1, 2, 3"):
        read_all(root)


def test_what_is_no_dataset_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no dataset"):
        LeRobotDataset(root=tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"is not a LeRobot dataset: it has no meta/info\.json"):
        LeRobotDataset(root=tmp_path)
