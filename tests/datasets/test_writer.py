from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.datasets.made import (
    FAST,
    FPS,
    PLAIN,
    STATE,
    WITH_ALL,
    WITH_VIDEO,
    frame_of,
    make_dataset,
    value_of,
    write_episodes,
)
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter, LeRobotDataset, VideoEncoding, read_metadata
from yardarm.errors import UsageError


def check(root: Path, features: dict[str, DatasetFeature], lengths: list[int]) -> None:
    """Every value of every frame is the one that was written."""
    dataset = LeRobotDataset(root=root, return_uint8=True)
    assert [episode.length for episode in dataset.meta.episodes] == lengths
    row = 0
    for episode, length in enumerate(lengths):
        for frame in range(length):
            item = dataset[row]
            assert int(item["index"]) == row
            assert (int(item["episode_index"]), int(item["frame_index"])) == (episode, frame)
            assert float(item["timestamp"]) == np.float32(frame / FPS)
            assert item["task"] == f"task {episode % 2}"
            for name, feature in features.items():
                check_value(item[name], feature, value_of(name, feature, episode, frame))
            row += 1
    assert row == len(dataset)


def check_value(found: Any, feature: DatasetFeature, written: Any) -> None:
    if feature.dtype == "string":
        assert found == written
    elif feature.dtype == "image":
        assert np.array_equal(found.numpy().transpose(1, 2, 0), written)
    elif feature.is_video:
        difference = np.abs(found.numpy().transpose(1, 2, 0).astype(int) - written.astype(int))
        assert difference.mean() < 4  # compressed; another frame or episode is further away
    else:
        assert np.array_equal(found.numpy(), written.reshape(found.shape))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [5, 3, 7], WITH_ALL)
    check(tmp_path / "made", WITH_ALL, [5, 3, 7])


def test_the_default_codec_is_read_back(tmp_path: Path) -> None:
    features = {"observation.images.top": DatasetFeature("video", (64, 64, 3))}
    make_dataset(tmp_path / "made", [4, 5], features, VideoEncoding())
    check(tmp_path / "made", features, [4, 5])
    info = json.loads((tmp_path / "made/meta/info.json").read_text())
    assert info["features"]["observation.images.top"]["info"]["video.codec"] == "av1"


def test_frames_need_no_finalize(tmp_path: Path) -> None:
    writer = DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, WITH_VIDEO), FAST)
    for done in (1, 2, 3):
        write_episodes(writer, WITH_VIDEO, [4])
        check(tmp_path / "made", WITH_VIDEO, [4] * done)
    writer.finalize()


def test_a_dataset_is_continued(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [5, 3], WITH_ALL)
    with DatasetWriter.resume(tmp_path / "made", FAST) as writer:
        write_episodes(writer, WITH_ALL, [4, 2])
    check(tmp_path / "made", WITH_ALL, [5, 3, 4, 2])
    stats = read_metadata(tmp_path / "made").stats
    assert stats["index"]["count"].tolist() == [14]
    assert stats["index"]["max"].tolist() == [13]


def test_another_codec_begins_another_file(tmp_path: Path) -> None:
    features = {"observation.images.top": DatasetFeature("video", (64, 64, 3))}
    make_dataset(tmp_path / "made", [5], features)
    with DatasetWriter.resume(tmp_path / "made", VideoEncoding("hevc")) as writer:
        write_episodes(writer, features, [3])
    check(tmp_path / "made", features, [5, 3])
    assert len(list((tmp_path / "made/videos").rglob("*.mp4"))) == 2


def test_files_roll_at_their_limits(tmp_path: Path) -> None:
    features = {**WITH_VIDEO, "observation.state": DatasetFeature("float64", (2000,))}
    make_dataset(
        tmp_path / "made", [20] * 5, features, data_files_size_in_mb=0.8, video_files_size_in_mb=0.003, chunks_size=2
    )
    data = sorted((tmp_path / "made/data").rglob("*.parquet"))
    assert [path.relative_to(tmp_path / "made/data").as_posix() for path in data] == [
        *("chunk-000/file-000.parquet", "chunk-000/file-001.parquet", "chunk-001/file-000.parquet")
    ]
    assert all(path.stat().st_size < 0.8 * 2**20 for path in data)
    assert len(list((tmp_path / "made/videos").rglob("*.mp4"))) > 1
    check(tmp_path / "made", features, [20] * 5)


def test_each_episode_is_a_row_group(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [5, 3, 7], PLAIN)
    file = pq.ParquetFile(tmp_path / "made/data/chunk-000/file-000.parquet")
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [5, 3, 7]


def test_many_episodes_have_several_files_of_rows(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [1] * 130, {"action": DatasetFeature("float32", (1,))})
    assert len(list((tmp_path / "made/meta/episodes").rglob("*.parquet"))) == 3
    assert read_metadata(tmp_path / "made").total_frames == 130


def test_several_episodes_are_recorded_at_once(tmp_path: Path) -> None:
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, WITH_VIDEO), FAST) as writer:
        drafts = [writer.draft(), writer.draft()]
        for frame in range(6):
            for episode, draft in enumerate(drafts):
                draft.add_frame(frame_of(WITH_VIDEO, episode, frame))
        for draft in drafts:
            writer.save(draft)
    check(tmp_path / "made", WITH_VIDEO, [6, 6])
    assert not list((tmp_path / "made").glob(".draft*"))


def test_an_episode_that_is_thrown_away_leaves_nothing(tmp_path: Path) -> None:
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, WITH_VIDEO), FAST) as writer:
        writer.add_frame(frame_of(WITH_VIDEO, 7, 0))
        writer.clear_episode_buffer()
        write_episodes(writer, WITH_VIDEO, [3])
        writer.add_frame(frame_of(WITH_VIDEO, 8, 0))
    check(tmp_path / "made", WITH_VIDEO, [3])
    assert not list((tmp_path / "made").glob(".draft*"))


def test_a_failed_save_leaves_the_dataset_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, WITH_VIDEO), FAST) as writer:
        write_episodes(writer, WITH_VIDEO, [4])
        with monkeypatch.context() as patch:
            patch.setattr("yardarm.datasets.writer.write_stats", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(OSError, match="full"):
                write_episodes(writer, WITH_VIDEO, [5])
        check(tmp_path / "made", WITH_VIDEO, [4])
        write_episodes(writer, WITH_VIDEO, [3])
    check(tmp_path / "made", WITH_VIDEO, [4, 3])


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("observation/state", "call it 'observation.state'"),
        ("../state", "call it 'state'"),
        ("the state", "call it 'the.state'"),
        ("", "must not be empty"),
        ("index", "filled in for every frame"),
        ("task", "leave it out"),
    ],
)
def test_bad_names_are_refused_before_anything_is_written(tmp_path: Path, name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=fix):
        DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, {name: STATE}))
    assert not (tmp_path / "made").exists()


def test_a_camera_may_use_its_memory_again(tmp_path: Path) -> None:
    features = {
        "observation.images.top": DatasetFeature("video", (64, 64, 3)),
        "wrist": DatasetFeature("image", (16, 16, 3)),
    }
    buffers = {name: np.empty(feature.shape, np.uint8) for name, feature in features.items()}
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, features), FAST) as writer:
        for frame in range(20):
            for name, feature in features.items():
                buffers[name][:] = value_of(name, feature, 0, frame)
            writer.add_frame({**buffers, "task": "task 0"})
        writer.save_episode()
    check(tmp_path / "made", features, [20])


@pytest.mark.parametrize("codec", ["libsvtav1", "h264", "hevc"])
def test_episodes_of_one_frame_are_joined(tmp_path: Path, codec: str) -> None:
    features = {"observation.images.top": DatasetFeature("video", (64, 64, 3))}
    make_dataset(tmp_path / "made", [1, 1, 5, 1, 3], features, VideoEncoding(codec, crf=20))
    check(tmp_path / "made", features, [1, 1, 5, 1, 3])


def test_a_closed_writer_saves_nothing(tmp_path: Path) -> None:
    writer = DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, PLAIN))
    draft = writer.draft()
    draft.add_frame(frame_of(PLAIN, 0, 0))
    writer.finalize()
    with DatasetWriter.resume(tmp_path / "made") as other:
        write_episodes(other, PLAIN, [2])
    with pytest.raises(UsageError, match="is closed"):
        writer.save(draft)
    check(tmp_path / "made", PLAIN, [2])


def test_a_video_file_with_more_in_it_is_left_alone(tmp_path: Path) -> None:
    """As after an edit by others that cut episodes by their timestamps only."""
    features = {"observation.images.top": DatasetFeature("video", (64, 64, 3))}
    root = make_dataset(tmp_path / "made", [5, 5], features)
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[1].update({"length": 3, "dataset_to_index": 8})
    rows[1]["videos/observation.images.top/from_timestamp"] = 0.7
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    data = root / "data/chunk-000/file-000.parquet"
    pq.write_table(pq.read_table(data).slice(0, 8), data)
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, "total_frames": 8}))
    before = [item["observation.images.top"] for item in LeRobotDataset(root=root)]
    with DatasetWriter.resume(root, FAST) as writer:
        write_episodes(writer, features, [4])
    after = [item["observation.images.top"] for item in LeRobotDataset(root=root)]
    assert len(after) == 12
    assert all(bool((one == other).all()) for one, other in zip(before, after, strict=False))


def test_a_row_that_names_another_file_loses_nothing(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [1] * 70, PLAIN)
    path = root / "meta/episodes/chunk-000/file-001.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("meta/episodes/file_index")
    pq.write_table(table.set_column(place, "meta/episodes/file_index", [[0] * table.num_rows]), path)
    with DatasetWriter.resume(root) as writer:
        write_episodes(writer, PLAIN, [2])
    check(root, PLAIN, [1] * 70 + [2])


@pytest.mark.parametrize(
    ("codec", "side", "complaint"),
    [("h264", 33, "h264 needs even sides"), ("hevc", 32, "hevc needs sides of at least 64")],
)
def test_sizes_that_a_codec_cannot_take_are_refused(tmp_path: Path, codec: str, side: int, complaint: str) -> None:
    info = DatasetInfo(FPS, {"observation.images.top": DatasetFeature("video", (side, side, 3))})
    with pytest.raises(UsageError, match=complaint):
        DatasetWriter.create(tmp_path / "made", info, VideoEncoding(codec))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("feature", "complaint"),
    [
        (DatasetFeature("float33", (1,)), "dtype 'float33'"),
        (DatasetFeature("float32", ()), "a single number has the shape"),
        (DatasetFeature("float32", (0,)), "a single number has the shape"),
        (DatasetFeature("video", (3, 4)), "must be"),
        (DatasetFeature("image", (2, 4, 5)), "must be"),
        (DatasetFeature("string", (2,)), "must be"),
        (DatasetFeature("float32", (1,) * 6), "at most 5"),
        (DatasetFeature("video", (8, 8, 3), info={"is_depth_map": True}), "depth map"),
    ],
)
def test_bad_features_are_refused(tmp_path: Path, feature: DatasetFeature, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, {"feature": feature}))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"action": np.zeros(3, np.float32)}, r"'action' must have the shape \(2,\), got \(3,\)"),
        ({"action": np.array(["a", "b"])}, "'action' must be float32"),
        ({"acton": np.zeros(2, np.float32)}, "did you mean 'action'"),
        ({"index": 3}, "'index'.*filled in"),
        ({"task": None}, "'task' must be the instruction"),
        ({"count": np.array([300])}, "'count' has 300 to 300, which int8 cannot hold"),
        ({"observation.images.top": np.zeros((32, 32, 3), np.uint8)}, "must have the shape"),
        ({"observation.images.top": np.full((32, 48, 3), 7.0)}, "between 0 and 1"),
    ],
)
def test_a_bad_frame_is_refused_and_leaves_the_episode(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    features = {**WITH_VIDEO, "count": DatasetFeature("int8", (1,))}
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, features), FAST) as writer:
        writer.add_frame(frame_of(features, 0, 0))
        with pytest.raises(UsageError, match=complaint):
            writer.add_frame({**frame_of(features, 0, 1), **change})
        incomplete = frame_of(features, 0, 1)
        del incomplete["action"]
        with pytest.raises(UsageError, match="lacks action"):
            writer.add_frame(incomplete)
        writer.add_frame(frame_of(features, 0, 1))
        writer.save_episode()
    check(tmp_path / "made", features, [2])


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [2], PLAIN)
    with pytest.raises(UsageError, match="already exists"):
        make_dataset(tmp_path / "made", [2], PLAIN)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    writer = DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, PLAIN))
    with pytest.raises(UsageError, match="being written by another"):
        DatasetWriter.resume(tmp_path / "made")
    writer.finalize()
    DatasetWriter.resume(tmp_path / "made").finalize()


def test_an_empty_episode_is_refused(tmp_path: Path) -> None:
    writer = DatasetWriter.create(tmp_path / "made", DatasetInfo(FPS, PLAIN))
    with pytest.raises(UsageError, match="without frames"):
        writer.save_episode()
    writer.finalize()


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}(\.[a-z0-9_]{1,6}){0,2}", fullmatch=True).filter(
    lambda name: name not in ("task", "index", "timestamp", "frame_index", "episode_index", "task_index")
)
DTYPES = (
    "float16",
    "float32",
    "float64",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
FEATURES = st.dictionaries(
    NAMES,
    st.builds(DatasetFeature, st.sampled_from(DTYPES), arrays.array_shapes(min_dims=1, max_dims=5, max_side=3)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(features=FEATURES, lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
def test_any_numbers_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    features: dict[str, DatasetFeature],
    lengths: list[int],
    data: st.DataObject,
) -> None:
    root = tmp_path_factory.mktemp("law") / "made"
    written = [
        {
            name: data.draw(arrays.arrays(feature.dtype, feature.shape, elements=finite(feature.dtype)))
            for name, feature in features.items()
        }
        for _ in range(sum(lengths))
    ]
    with DatasetWriter.create(root, DatasetInfo(FPS, features)) as writer:
        frames = iter(written)
        for length in lengths:
            for _ in range(length):
                writer.add_frame({**next(frames), "task": "any"})
            writer.save_episode()
    dataset = LeRobotDataset(root=root)
    for item, frame in zip(dataset, written, strict=True):
        for name, feature in features.items():
            assert str(item[name].dtype) == f"torch.{feature.dtype}"
            assert np.array_equal(item[name].numpy().reshape(feature.shape), frame[name], equal_nan=True)


def finite(dtype: str) -> st.SearchStrategy[Any]:
    return arrays.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("then", "before"), [("save", 1), pytest.param("remove", 2, marks=pytest.mark.slow)])
def test_a_crash_between_any_two_steps_concerns_the_last_episode_only(then: str, before: int, tmp_path: Path) -> None:
    lines = subprocess.run(
        [sys.executable, "-m", "tests.datasets.crashing_writer", str(tmp_path), then],
        **{"cwd": ROOT, "capture_output": True, "text": True, "timeout": 400, "check": True},
    ).stdout.splitlines()
    crashes = [json.loads(line) for line in lines]
    assert len(crashes) > 15  # of every file, before and after it is put in place
    assert {crash["saved"] for crash in crashes} == {before}
    for crash in crashes:
        root = Path(crash["root"])
        found = read_metadata(root).total_episodes
        assert found in (1, 2)  # it is there, or it is not
        data = pq.read_table(root / "data")["episode_index"].unique().to_pylist()
        assert set(pq.read_table(root / "meta/episodes")["episode_index"].to_pylist()) <= {*data}  # for LeRobot
        assert len(list(LeRobotDataset(root=root))) == 4 * found
        with DatasetWriter.resume(root, FAST) as writer:
            write_episodes(writer, WITH_VIDEO, [3])
        check(root, WITH_VIDEO, [4] * found + [3])
        stats = read_metadata(root).stats
        assert stats["index"]["count"].tolist() == [4 * found + 3]


WRITER = """
import sys
from pathlib import Path
from tests.datasets.made import FAST, FPS, WITH_VIDEO, frame_of
from yardarm.datasets import DatasetInfo, DatasetWriter
writer = DatasetWriter.create(Path(sys.argv[1]), DatasetInfo(FPS, WITH_VIDEO), FAST)
print("begun", flush=True)
while True:
    for frame in range(4):
        writer.add_frame(frame_of(WITH_VIDEO, writer.num_episodes, frame))
    writer.save_episode()
    print(writer.num_episodes, flush=True)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_writer_leaves_what_it_saved(tmp_path: Path, attempt: int) -> None:
    root = tmp_path / "made"
    command = [sys.executable, "-c", WRITER, str(root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.1 + 0.2 * attempt)
        process.kill()
        said = process.stdout.read().split()
    saved = int(said[-1]) if said else 0
    found = read_metadata(root).total_episodes
    assert saved <= found <= saved + 1
    check(root, WITH_VIDEO, [4] * found)
