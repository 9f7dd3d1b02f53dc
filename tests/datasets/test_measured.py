"""Times that were measured beside the grid: they follow their frames through every edit, and the checks read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.made import FAST, FPS, PLAIN, VIDEO, frame_of
from tests.helpers import yardarm_here
from yardarm.datasets import DatasetInfo, DatasetWriter, MeasuredTimes, measured_file, read_measured, read_metadata
from yardarm.datasets.measured import write_measured
from yardarm.datasets.quality import WARNING, CheckReport, check_dataset
from yardarm.errors import DatasetFault, UsageError

CAMERA = "observation.images.front"
LENGTH = 40
Fault = Callable[[MeasuredTimes], MeasuredTimes]


def times(episode: int, length: int = LENGTH) -> MeasuredTimes:
    """A good recording: a millisecond late, with pictures that are 20 ms old."""
    due = 1000.0 * episode + np.arange(length) / FPS
    return MeasuredTimes(
        np.arange(length),
        due,
        due + 0.001,
        due + 0.002,
        due + 0.003,
        np.full((length, 2), float(episode)),
        ("x", "y"),
        {"front": due - 0.018},
        {"front": np.arange(length)},
    )


def record(root: Path, faults: dict[int, Fault] | None = None, episodes: int = 3, video: bool = False) -> Path:
    features = {**PLAIN, CAMERA: VIDEO} if video else PLAIN
    with DatasetWriter.create(root, DatasetInfo(FPS, features), FAST) as writer:
        for episode in range(episodes):
            draft = writer.draft()
            for frame in range(LENGTH):
                draft.add_frame(frame_of(features, episode, frame))
            writer.save(draft, (faults or {}).get(episode, lambda own: own)(times(episode)))
    return root


def found(root: Path) -> list[tuple[str, str, int | None]]:
    report: CheckReport = check_dataset(read_metadata(root), cameras=False)
    own = [finding for finding in report.findings if finding.severity == WARNING]
    return [(finding.check, finding.message, finding.episode) for finding in own]


def test_a_good_recording_raises_nothing_and_says_how_well_the_rate_was_kept(tmp_path: Path) -> None:
    root = record(tmp_path / "own")
    assert found(root) == []
    report = check_dataset(read_metadata(root), cameras=False)
    (note,) = [finding.message for finding in report.findings if finding.check == "turns"]
    assert note.startswith("recorded at 10 Hz: 120 turns, 0 missed; period error 0.0 ms in the median")


def missed(own: MeasuredTimes) -> MeasuredTimes:
    late = np.where(np.arange(LENGTH) > 20, 5, 0)
    return replace(own, tick=own.tick + late, due_s=own.due_s + late / FPS, began_s=own.began_s + late / FPS)


def late(own: MeasuredTimes) -> MeasuredTimes:
    return replace(own, began_s=own.due_s + np.where(np.arange(LENGTH) % 5 == 3, 0.08, 0.001))


def frozen(own: MeasuredTimes) -> MeasuredTimes:
    return replace(own, numbers={"front": np.clip(own.numbers["front"], None, 30)})


def old(own: MeasuredTimes) -> MeasuredTimes:
    return replace(own, captured_s={"front": own.captured_s["front"] - 0.3})


@pytest.mark.parametrize(
    ("fault", "check", "message"),
    [
        (missed, "turns", "5 of 45 turns were missed, 5 of them after frame 20: there, 0.60 s look like 0.10 s"),
        (late, "turns", "turns began up to 80 ms late (99%; a period has 100 ms)"),
        (frozen, "cameras", f"{CAMERA} shows the same picture for 1.0 s, from frame 30 to 39"),
        (old, "cameras", f"pictures of {CAMERA} are 320 ms older than the joints beside them (median)"),
    ],
)
def test_each_fault_is_found_in_its_episode(fault: Fault, check: str, message: str, tmp_path: Path) -> None:
    assert found(record(tmp_path / "own", {1: fault})) == [(check, message, 1)]


def test_a_camera_that_hung_is_named_although_the_arm_held_still_meanwhile(tmp_path: Path) -> None:
    def hung(own: MeasuredTimes) -> MeasuredTimes:
        return replace(missed(own), captured_s={"front": own.captured_s["front"] + np.where(own.tick > 20, 2.0, 0)})

    assert ("cameras", f"{CAMERA} took no picture for 2.1 s after frame 20", 1) in found(
        record(tmp_path / "own", {1: hung})
    )


def test_times_of_another_number_of_frames_are_told(tmp_path: Path) -> None:
    root = record(tmp_path / "own")
    write_measured(root, 1, times(1, LENGTH - 1))
    assert found(root) == [("files", "there are measured times of 39 frames, but the episode has 40", 1)]


def test_a_slow_camera_is_a_note(tmp_path: Path) -> None:
    root = record(tmp_path / "own", {0: lambda own: replace(own, numbers={"front": own.numbers["front"] // 2})})
    assert found(root) == []
    messages = [finding.message for finding in check_dataset(read_metadata(root), cameras=False).findings]
    assert f"{CAMERA} gave 20 pictures for 40 frames; the others show them again" in messages


def test_a_damaged_file_costs_the_times_only(tmp_path: Path) -> None:
    root = record(tmp_path / "own")
    measured_file(root, 1).write_bytes(b"PAR1 nothing")
    with pytest.raises(DatasetFault, match=r"episode_000001.parquet is damaged"):
        read_measured(root, 1)
    ((check, message, episode),) = found(root)
    assert (check, episode) == ("files", 1)
    assert message.endswith("its measured times are lost")


def asked(root: Path) -> list[tuple[int, float] | None]:
    """How many rows each episode's file has, and which episode it was."""
    all_times = [read_measured(root, episode.index) for episode in read_metadata(root).episodes]
    return [None if own is None else (len(own), float(own.asked[0, 0])) for own in all_times]


def test_edits_carry_the_times_with_their_frames(tmp_path: Path) -> None:
    root = record(tmp_path / "own", video=True)
    new = tmp_path / "new"
    assert yardarm_here("dataset", "delete", root, "--episodes=0", f"--output={new}").returncode == 0
    assert asked(new) == [(LENGTH, 1.0), (LENGTH, 2.0)]
    assert not measured_file(new, 2).exists()
    trimmed = tmp_path / "trimmed"
    cut = ("--episodes=1", "--start=10", "--end=30", f"--output={trimmed}")
    assert yardarm_here("dataset", "trim", root, *cut).returncode == 0
    assert asked(trimmed) == [(LENGTH, 0.0), (20, 1.0), (LENGTH, 2.0)]
    own = read_measured(trimmed, 1)
    assert own is not None
    assert own.tick[0] == 10
    merged = tmp_path / "merged"
    assert yardarm_here("dataset", "merge", new, root, f"--output={merged}").returncode == 0
    assert asked(merged) == [(LENGTH, 1.0), (LENGTH, 2.0), (LENGTH, 0.0), (LENGTH, 1.0), (LENGTH, 2.0)]


def test_a_writer_removes_the_times_of_an_episode_that_was_never_saved(tmp_path: Path) -> None:
    root = record(tmp_path / "own", episodes=2)
    measured_file(root, 2).write_bytes(measured_file(root, 1).read_bytes())
    with DatasetWriter.resume(root):
        pass
    assert not measured_file(root, 2).exists()
    assert measured_file(root, 1).exists()


def files_of(root: Path) -> list[Path]:
    files = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    return [path for path in files if "measured" not in path.parts]


@pytest.mark.parametrize("video", [False, True])
def test_the_last_episode_can_be_removed_as_if_it_had_never_been(video: bool, tmp_path: Path) -> None:
    root, expected = record(tmp_path / "own", video=video), record(tmp_path / "expected", episodes=2, video=video)
    features = read_metadata(root).info.features
    own = {name: features[name] for name in features if name in {**PLAIN, CAMERA: VIDEO}}
    with DatasetWriter.resume(expected, FAST) as writer:
        for frame in range(7):
            writer.add_frame(frame_of(own, 5, frame, "something new"))
        writer.save_episode()
        writer.remove_last()
        with pytest.raises(UsageError, match="no episode that could be removed"):
            writer.remove_last()
        for frame in range(LENGTH):
            writer.add_frame(frame_of(own, 2, frame))
        writer.save_episode()
    assert read_metadata(expected).tasks == read_metadata(root).tasks
    assert asked(expected) == [(LENGTH, 0.0), (LENGTH, 1.0), None]
    names = files_of(root)
    assert names == files_of(expected)
    for name in names:
        assert (root / name).read_bytes() == (expected / name).read_bytes(), name
