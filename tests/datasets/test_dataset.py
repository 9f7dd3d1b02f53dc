from __future__ import annotations

import json
import multiprocessing
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.datasets.made import FAST, FPS, GOLDEN, PLAIN, WITH_ALL, WITH_VIDEO, make_dataset, value_of, write_episodes
from yardarm.datasets import INDEX_FEATURES, DatasetFeature, DatasetInfo, DatasetWriter, LeRobotDataset, VideoEncoding
from yardarm.datasets.statistics import IMAGENET
from yardarm.datasets.tasks import write_tasks
from yardarm.datasets.video.decoding import PyAVReader
from yardarm.errors import DatasetFault, SetupError, UsageError

WINDOWS = {"action": [0.0, 0.1, 0.2, 0.3], "observation.state": [-0.1, 0.0]}


def test_lerobots_dataset_is_read_to_the_last_value() -> None:
    dataset = LeRobotDataset(root=GOLDEN / "data", delta_timestamps=WINDOWS)
    expected = np.load(GOLDEN / "expected_items.npz")
    rows = sorted({int(name.split(".")[0]) for name in expected})
    assert rows == [0, 5, 11, 12, 19, 20, 34]
    for row in rows:
        item = dataset[row]
        names = {name.split(".", 1)[1] for name in expected if name.startswith(f"{row}.")}
        assert set(item) == names
        for name in names:
            value = expected[f"{row}.{name}"]
            if name == "task":
                assert item[name] == str(value)
            elif name == "observation.images.top":
                pixels = (item[name] * 255).round().numpy().astype(int)
                assert np.abs(pixels - value.astype(int)).max() <= 1
            else:
                assert item[name].numpy().dtype == value.dtype
                assert np.array_equal(item[name].numpy(), value)


def test_lerobots_description_is_read() -> None:
    meta = LeRobotDataset(root=GOLDEN / "data").meta
    assert (meta.total_episodes, meta.total_frames, meta.fps, meta.robot_type) == (3, 35, 10, "sawyer")
    assert meta.tasks == ("push the puck", "open the door")
    assert [(episode.start, episode.stop, episode.tasks) for episode in meta.episodes] == [
        (0, 12, ("push the puck",)),
        (12, 20, ("open the door",)),
        (20, 35, ("push the puck",)),
    ]
    assert meta.stats["action"]["mean"][0] == 0.050669283100536894
    assert meta.features["observation.state"] == {
        "dtype": "float32",
        "shape": [4],
        "names": ["x", "y", "z", "gripper"],
    }
    assert meta.camera_keys == ["observation.images.top"]


def test_lerobots_dataset_is_continued(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(GOLDEN / "data", tmp_path / "copy")
    before = [LeRobotDataset(root=GOLDEN / "data")[row] for row in (0, 34)]
    with DatasetWriter.resume(tmp_path / "copy") as writer:
        features = {name: writer.meta.info.features[name] for name in (*PLAIN, "observation.images.top")}
        write_episodes(writer, features, [4])
    dataset = LeRobotDataset(root=tmp_path / "copy")
    assert len(dataset) == 39
    for row, item in zip((0, 34), before, strict=True):
        assert torch.equal(dataset[row]["observation.images.top"], item["observation.images.top"])
        assert torch.equal(dataset[row]["action"], item["action"])


def test_windows_stop_at_the_ends_of_an_episode(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [4, 5], WITH_ALL)
    deltas = {name: [-0.2, 0.0, 0.2] for name in WITH_ALL}
    dataset = LeRobotDataset(root=tmp_path / "made", delta_timestamps=deltas, return_uint8=True)
    for row, frames, padding in [
        (0, [0, 0, 2], [True, False, False]),
        (4, [0, 0, 2], [True, False, False]),
        (7, [1, 3, 4], [False, False, True]),
        (3, [1, 3, 3], [False, False, True]),
    ]:
        item, episode = dataset[row], int(row >= 4)
        for name, feature in WITH_ALL.items():
            assert item[f"{name}_is_pad"].tolist() == padding
            written = [value_of(name, feature, episode, frame) for frame in frames]
            if feature.dtype == "string":
                assert item[name] == written
            elif feature.is_video:
                shown = item[name].numpy().transpose(0, 2, 3, 1).astype(int)
                assert np.abs(shown - np.stack(written).astype(int)).mean() < 4
            elif feature.is_visual:
                assert np.array_equal(item[name].numpy().transpose(0, 2, 3, 1), np.stack(written))
            else:
                assert np.array_equal(item[name].numpy(), np.stack(written).reshape(item[name].shape))


def test_some_episodes_are_as_they_are_among_all(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [4, 3, 5, 2], WITH_ALL, data_files_size_in_mb=0.02)
    everything = LeRobotDataset(root=tmp_path / "made", delta_timestamps=WINDOWS)
    some = LeRobotDataset(root=tmp_path / "made", episodes=[3, 1], delta_timestamps=WINDOWS)
    assert (some.num_episodes, some.num_frames, some.episodes) == (2, 5, [1, 3])
    for item, row in zip(some, [4, 5, 6, 12, 13], strict=True):
        expected = everything[row]
        assert all(
            torch.equal(item[name], value) if isinstance(value, torch.Tensor) else item[name] == value
            for name, value in expected.items()
        )


@pytest.mark.parametrize(
    ("episodes", "complaint"),
    [
        ([-1, 0], "must not be negative, got -1"),
        ([0, 1, 1, 2, 2], "must not be repeated, got 1, 2 more than once"),
        ([0, 3, 9], "episodes 3, 9: the dataset has 3 episodes, 0 to 2"),
        ([0.5], "whole numbers, got 0.5"),
        (["one"], "whole numbers, got 'one'"),
        ([], "empty"),
    ],
)
def test_bad_episodes_are_named(episodes: list[int], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        LeRobotDataset(root=GOLDEN / "data", episodes=episodes)


@pytest.mark.parametrize(
    ("deltas", "complaint"),
    [
        ({"acton": [0.0]}, "did you mean 'action'"),
        ({"action": [0.0, 0.05]}, "must be multiples of 1/10 s, got 0.05"),
        ({"action": []}, "is empty"),
    ],
)
def test_bad_windows_are_named(deltas: dict[str, list[float]], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        LeRobotDataset(root=GOLDEN / "data", delta_timestamps=deltas)


def test_rows_count_from_the_end_too_and_end(tmp_path: Path) -> None:
    dataset = LeRobotDataset(root=GOLDEN / "data")
    assert int(dataset[-1]["index"]) == 34
    with pytest.raises(IndexError, match="frame 35 of 35"):
        dataset[35]


def test_pictures_are_transformed(tmp_path: Path) -> None:
    plain = LeRobotDataset(root=GOLDEN / "data")[3]["observation.images.top"]
    turned = LeRobotDataset(root=GOLDEN / "data", image_transforms=lambda picture: 1 - picture)[3]
    assert torch.equal(turned["observation.images.top"], 1 - plain)
    with pytest.raises(UsageError, match="must be a function"):
        LeRobotDataset(root=GOLDEN / "data", image_transforms="blur")  # type: ignore[arg-type]


def test_imagenets_statistics_take_the_place_of_the_pictures_own() -> None:
    meta = LeRobotDataset(root=GOLDEN / "data", use_imagenet_stats=True).meta
    assert np.array_equal(meta.stats["observation.images.top"]["mean"], IMAGENET["mean"])
    assert meta.stats["observation.images.top"]["max"].shape == (3, 1, 1)
    assert meta.stats["action"]["mean"][0] == 0.050669283100536894


def test_an_unknown_backend_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'pyav'"):
        LeRobotDataset(root=tmp_path / "nowhere", video_backend="pyva")


def test_a_backend_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="pip install"):
        LeRobotDataset(root=GOLDEN / "data", video_backend="torchcodec")


def test_torchcodec_shows_the_same_frames(tmp_path: Path) -> None:
    pytest.importorskip("torchcodec", exc_type=Exception)
    make_dataset(tmp_path / "made", [9, 8], WITH_VIDEO)
    both = [
        LeRobotDataset(root=tmp_path / "made", video_backend=name, return_uint8=True) for name in ("pyav", "torchcodec")
    ]
    for one, other in zip(*both, strict=True):
        difference = one["observation.images.top"].int() - other["observation.images.top"].int()
        assert difference.abs().max() <= 2


@pytest.mark.parametrize("codec", ["libsvtav1", "h264", "hevc"])
@pytest.mark.parametrize("gop", [2, 30])
def test_frames_are_found_in_any_order(tmp_path: Path, codec: str, gop: int) -> None:
    features = {"observation.images.top": DatasetFeature("video", (64, 80, 3))}
    make_dataset(tmp_path / "made", [15, 20], features, VideoEncoding(codec, g=gop))
    dataset = LeRobotDataset(root=tmp_path / "made", return_uint8=True)
    frames = {row: dataset[row]["observation.images.top"] for row in range(35)}
    shown = [int(frames[row][0, -8:].float().mean().round()) for row in range(35)]
    written = [20 + 8 * frame for frame in (*range(15), *range(20))]
    assert np.abs(np.array(shown) - written).max() <= 3
    for row in np.random.default_rng(0).permutation(35):
        assert torch.equal(dataset[int(row)]["observation.images.top"], frames[int(row)])


def test_each_needed_frame_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_dataset(tmp_path / "made", [30], WITH_VIDEO, VideoEncoding("h264", g=10))
    deltas = {"observation.images.top": [-0.2, -0.1, 0.0, 0.4]}
    dataset = LeRobotDataset(root=tmp_path / "made", delta_timestamps=deltas)
    converted = []
    original = PyAVReader._reach
    monkeypatch.setattr(PyAVReader, "_reach", lambda *given: (converted.append(given[1]), original(*given))[1])
    assert dataset[0]["observation.images.top"].shape == (4, 3, 32, 48)
    assert len(converted) == 2  # the first frame stands in for those before it
    dataset[17]
    assert len(converted) == 6


def _sums(dataset: LeRobotDataset, rows: range) -> list[float]:
    return [float(dataset[row]["observation.images.top"].sum()) for row in rows]


def _send_sums(dataset: LeRobotDataset, pipe: multiprocessing.connection.Connection) -> None:
    pipe.send(_sums(dataset, range(len(dataset))))


def test_a_dataset_that_was_used_can_be_forked(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    dataset = LeRobotDataset(root=tmp_path / "made")
    expected = _sums(dataset, range(11))
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=_send_sums, args=(dataset, pipe)) for _, pipe in pipes]
    for process in processes:
        process.start()
    own = _sums(dataset, range(11))
    assert [pipe.recv() for pipe, _ in pipes] == [expected, expected]
    assert own == expected
    for process in processes:
        process.join()


def test_threads_read_at_the_same_time(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [6, 5], WITH_VIDEO)
    dataset = LeRobotDataset(root=tmp_path / "made")
    expected = _sums(dataset, range(11))
    found: list[list[float]] = []
    threads = [threading.Thread(target=lambda: found.append(_sums(dataset, range(11)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_reader_is_not_disturbed_by_a_writer(tmp_path: Path) -> None:
    make_dataset(tmp_path / "made", [6, 5], WITH_ALL)
    dataset = LeRobotDataset(root=tmp_path / "made")
    expected = _sums(dataset, range(4))
    with DatasetWriter.resume(tmp_path / "made", FAST) as writer:
        for done in range(3):
            write_episodes(writer, WITH_ALL, [4])
            assert len(LeRobotDataset(root=tmp_path / "made")) == 11 + 4 * (done + 1)
            assert _sums(dataset, range(4)) == expected
            fresh = pickle.loads(pickle.dumps(dataset))  # opens its files anew
            assert _sums(fresh, range(4)) == expected


def test_a_new_dataset_is_made_by_lerobots_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_LEROBOT_HOME", str(tmp_path))
    features = {name: feature.to_json() for name, feature in WITH_VIDEO.items()}
    with LeRobotDataset.create("lab/toy", FPS, features, robot_type="toy", encoding=FAST) as writer:
        write_episodes(writer, WITH_VIDEO, [3])
    with LeRobotDataset.resume("lab/toy", encoding=FAST) as writer:
        write_episodes(writer, WITH_VIDEO, [2])
    dataset = LeRobotDataset("lab/toy")
    assert (dataset.num_frames, dataset.root.resolve()) == (5, tmp_path / "lab/toy")
    with pytest.raises(UsageError, match="change it to 'image'"):
        LeRobotDataset.create("lab/other", FPS, features, use_videos=False)


@pytest.mark.parametrize("tolerance", [1e-4, 0.04, 0.11, 0.3])
def test_whatever_is_tolerated_the_nearest_frame_is_shown(tmp_path: Path, tolerance: float) -> None:
    root = make_dataset(tmp_path / "made", [8], WITH_VIDEO)
    strict = LeRobotDataset(root=root)
    for row, item in enumerate(LeRobotDataset(root=root, tolerance_s=tolerance)):
        assert torch.equal(item["observation.images.top"], strict[row]["observation.images.top"])


def test_times_of_long_episodes_are_exact(tmp_path: Path) -> None:
    maker = LeRobotDataset(root=make_dataset(tmp_path / "made", [3], WITH_VIDEO))._maker
    frames = torch.tensor([29_999, 30_001])  # after fifty minutes
    columns = {"timestamp": (frames / FPS).float(), "frame_index": frames}
    assert maker._seconds(columns, np.array([0, 1])).tolist() == [2999.9, 3000.1]


def test_a_task_that_is_not_listed_is_a_fault(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [3], PLAIN)
    write_tasks(root, [])
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, "total_tasks": 0}))
    with pytest.raises(DatasetFault, match=r"has the task 0, but meta/tasks\.parquet has 0"):
        LeRobotDataset(root=root)[0]


def test_what_cannot_be_read_is_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = make_dataset(tmp_path / "made", [3], WITH_VIDEO)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["observation.images.top"]["info"]["is_depth_map"] = True
    info["features"]["language_events"] = {"dtype": "language", "shape": [1], "names": None}
    (root / "meta/info.json").write_text(json.dumps(info))
    item = LeRobotDataset(root=root)[1]
    assert set(item) == {*PLAIN, *INDEX_FEATURES, "task"}
    assert "ignoring observation.images.top, language_events, since" in caplog.text
    with pytest.raises(UsageError, match=r"'language_events' has the dtype language.*remove-feature"):
        DatasetWriter.resume(root)


def test_fps_must_be_a_number_above_zero() -> None:
    with pytest.raises(UsageError, match="fps must be a number above 0, got 0"):
        DatasetInfo(0, PLAIN)
