"""Ticks become episodes in another process: none is lost, none waits, and what goes wrong there is told here."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.helpers import wait_until
from tests.recording.robot.ticks import FAST, TASK, frames_in_videos, job_for, tick_of, ticks
from yardarm.datasets import LeRobotDataset, measured_file, read_measured, read_metadata
from yardarm.errors import RobotFault, StorageFault, UsageError
from yardarm.recording.robot import EncoderProcess, waiting_in
from yardarm.recording.robot.spool import SpooledEpisode, SpoolSpec, spooled
from yardarm.robots import Frame

CAMERAS = {"front": (32, 48, 3), "wrist": (24, 16, 3)}


def hidden(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".")]


def test_each_tick_is_a_row_and_a_frame_of_every_camera(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        for episode, length in enumerate((7, 4)):
            for tick in ticks(episode, length, CAMERAS):
                encoder.add(tick)
            encoder.save_episode()
        encoder.finish()
        assert [(saved.index, saved.frames) for saved in encoder.news()] == [(0, 7), (1, 4)]
    assert hidden(root) == []
    dataset = LeRobotDataset(root=root, return_uint8=True)
    assert [episode.length for episode in dataset.meta.episodes] == [7, 4]
    assert dataset.meta.info.robot_type == "so_follower"
    for row, (episode, index) in enumerate([(0, index) for index in range(7)] + [(1, index) for index in range(4)]):
        item, tick = dataset[row], tick_of(episode, index, CAMERAS)
        assert item["task"] == TASK
        assert item["action"].tolist() == list(tick.sent.values())
        assert item["observation.state"].tolist() == [10.0 * episode + index, index]
        for name in CAMERAS:
            shown = item[f"observation.images.{name}"].float().mean()
            assert abs(shown - tick.reading.frames[name].picture.mean()) < 4


def test_measured_times_and_the_asked_action_are_beside_the_grid(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        for index in (0, 1, 3, 4):  # tick 2 was missed
            encoder.add(tick_of(0, index, CAMERAS, repeats=2))
        encoder.save_episode()
        encoder.finish()
    measured = read_measured(root, 0)
    assert measured is not None
    assert measured.tick.tolist() == [0, 1, 3, 4]
    assert np.allclose(measured.due_s, [0.0, 0.1, 0.3, 0.4])
    assert np.allclose(measured.began_s - measured.due_s, 0.001)
    assert np.allclose(measured.joints_s - measured.due_s, 0.002)
    assert np.allclose(measured.sent_s - measured.due_s, 0.004)
    assert np.allclose(measured.captured_s["wrist"], measured.due_s - 0.02)
    assert measured.numbers["front"].tolist() == [0, 0, 1, 2]
    assert measured.asked_names == ("pan.pos", "gripper.pos")
    assert measured.asked[:, 1].tolist() == [5, 6, 8, 9]
    assert {"due_s", "asked"}.isdisjoint(read_metadata(root).info.features)


def test_the_numbers_of_a_tick_do_not_keep_its_pictures_in_memory() -> None:
    layout = job_for(Path("unused"), CAMERAS).layout
    tick = tick_of(2, 3, CAMERAS)
    content = bytearray(b"".join(layout.pack(tick)))
    row, pictures = layout.unpack(content)
    assert (pictures["wrist"] == tick.reading.frames["wrist"].picture).all()
    del pictures
    content.clear()  # raises while anything looks into it
    assert row["state"].tolist() == [23, 3]


def test_a_discarded_and_a_removed_episode_leave_nothing(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        for episode, then in enumerate((encoder.save_episode, encoder.discard_episode, encoder.save_episode)):
            for tick in ticks(episode, 5, CAMERAS):
                encoder.add(tick)
            then()
        encoder.remove_last()
        for tick in ticks(3, 3, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        encoder.save_episode()  # nothing was added: nothing is saved
        encoder.finish()
    dataset = LeRobotDataset(root=root)
    assert [episode.length for episode in dataset.meta.episodes] == [5, 3]
    assert dataset[5]["observation.state"][0] == 30
    assert frames_in_videos(root, "front") == 8
    assert measured_file(root, 1).exists()
    assert not measured_file(root, 2).exists()


def test_removing_the_only_episode_leaves_an_empty_dataset_that_grows_again(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        for tick in ticks(0, 3, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        encoder.remove_last()
        encoder.finish()
    assert read_metadata(root).total_episodes == 0
    assert not list(root.rglob("*.parquet")) + list(root.rglob("*.mp4"))
    with EncoderProcess(job_for(root, CAMERAS, resume=True)) as encoder:
        for tick in ticks(1, 2, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        encoder.finish()
    assert len(LeRobotDataset(root=root)) == 2


def test_an_encoder_that_cannot_keep_up_makes_the_spool_grow_and_loses_nothing(tmp_path: Path) -> None:
    root, shape, count = tmp_path / "cube", {"front": (240, 320, 3)}, 100
    with EncoderProcess(job_for(root, shape)) as encoder:
        assert encoder._process is not None
        encoder._process.send_signal(signal.SIGSTOP)  # the slowest encoder there is
        for tick in ticks(0, count, shape):
            encoder.add(tick)
        size = encoder.job.layout.size
        wait_until(lambda: sum(path.stat().st_size for path in root.glob(".spool-*.ticks")) == count * size)
        assert encoder.waiting == count
        assert len(list(root.glob(".spool-*.ticks"))) > 1
        encoder._process.send_signal(signal.SIGCONT)
        encoder.save_episode()
        encoder.finish()
        assert encoder.waiting == 0
    assert hidden(root) == []
    assert frames_in_videos(root, "front") == count == read_metadata(root).total_frames


def test_a_killed_encoder_is_told_in_one_line_and_finished_episodes_stay(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        for tick in ticks(0, 3, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        wait_until(lambda: bool(encoder.look()))
        assert encoder._process is not None
        os.kill(encoder._process.pid, signal.SIGKILL)

        def is_told() -> bool:
            encoder.add(tick_of(1, 0, CAMERAS))
            encoder.look()
            return False

        with pytest.raises(StorageFault, match="SIGKILL"):
            wait_until(is_told)
    assert read_metadata(root).total_episodes == 1
    with EncoderProcess(job_for(root, CAMERAS, resume=True)) as encoder:
        assert encoder.episodes == 1
        encoder.finish()
    assert hidden(root) == []


def test_an_episode_that_has_ended_outlives_its_encoder(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        assert encoder._process is not None
        encoder._process.send_signal(signal.SIGSTOP)
        for tick in ticks(0, 6, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        encoder.add(tick_of(1, 0, CAMERAS))  # of an episode that does not end
        encoder._process.kill()
        with pytest.raises(StorageFault, match="SIGKILL"):
            encoder.finish()
    assert read_metadata(root).total_episodes == 0
    assert waiting_in(root) == len(spooled(root)) == 1
    with EncoderProcess(replace(job_for(root, CAMERAS, resume=True), task="another task")) as encoder:
        assert encoder.episodes == 1
        assert [(saved.index, saved.frames) for saved in encoder.news()] == [(0, 6)]
        encoder.finish()
    assert hidden(root) == []
    assert frames_in_videos(root, "wrist") == 6
    item = LeRobotDataset(root=root)[5]
    assert (item["task"], item["observation.state"].tolist()) == (TASK, [5, 5])
    measured = read_measured(root, 0)
    assert measured is not None
    assert np.allclose(measured.due_s, np.arange(6) / 10)


def test_what_is_encoded_is_not_kept_twice_and_outlives_its_encoder_too(tmp_path: Path) -> None:
    root, shape = tmp_path / "cube", {"front": (240, 320, 3)}
    with EncoderProcess(job_for(root, shape)) as encoder:
        for tick in ticks(0, 299, shape):
            encoder.add(tick)
        files = [SpooledEpisode(root, encoder.job.owner, 0).ticks_file(number) for number in range(5)]
        wait_until(lambda: bool(list(root.glob(".spool-*.0000.mp4"))))  # of 288 ticks
        encoder.add(tick_of(0, 299, shape))
        wait_until(lambda: not files[3].exists())
        assert [path.exists() for path in files] == [False, False, False, False, True]
        assert encoder._process is not None
        encoder._process.send_signal(signal.SIGSTOP)
        for index in range(300, 310):
            encoder.add(tick_of(0, index, shape))
        encoder.save_episode()
        encoder._process.kill()
        with pytest.raises(StorageFault, match="SIGKILL"):
            encoder.finish()
    with EncoderProcess(job_for(root, shape, resume=True)) as encoder:
        assert [(saved.index, saved.frames) for saved in encoder.news()] == [(0, 310)]
        encoder.finish()
    assert hidden(root) == []
    assert frames_in_videos(root, "front") == 310
    dataset = LeRobotDataset(root=root, return_uint8=True)
    for index in (0, 286, 287, 288, 289, 309):
        picture, tick = dataset[index]["observation.images.front"], tick_of(0, index, shape)
        assert abs(picture.float().mean() - tick.reading.frames["front"].picture.mean()) < 4
        assert dataset[index]["observation.state"].tolist() == [index, index]


def test_an_episode_that_cannot_be_saved_waits_until_it_can(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, CAMERAS)) as encoder:
        in_the_way = root / "meta" / "measured"
        in_the_way.write_text("a file where a folder must be")
        for tick in ticks(0, 3, CAMERAS):
            encoder.add(tick)
        encoder.save_episode()
        with pytest.raises(StorageFault, match="measured"):
            encoder.finish()
    with (
        pytest.raises(UsageError, match=r"an episode of an earlier recording cannot be saved: .*give it up: remove"),
        EncoderProcess(job_for(root, CAMERAS, resume=True)),
    ):
        pass
    assert waiting_in(root) == 1
    in_the_way.unlink()
    with EncoderProcess(job_for(root, CAMERAS, resume=True)) as encoder:
        assert encoder.episodes == 1
        encoder.finish()
    assert hidden(root) == []


def test_an_episode_whose_encoder_was_killed_right_after_saving_it_is_not_saved_twice(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root)) as encoder:
        for tick in ticks(0, 3):
            encoder.add(tick)
        encoder.save_episode()
        encoder.finish()
    left = SpooledEpisode(root, owner=1, number=0)
    left.begin(SpoolSpec(job_for(root).layout, TASK))
    left.ticks_file(0).write_bytes(b"".join(job_for(root).layout.pack(tick_of(0, 0))))
    left.end()
    left.save_as(0)
    with EncoderProcess(job_for(root, resume=True)) as encoder:
        assert encoder.episodes == 1
        encoder.finish()
    assert hidden(root) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.recording.robot.ticks import job_for, ticks
from yardarm.recording.robot import EncoderProcess, waiting_in
from yardarm.recording.robot.spool import SpooledEpisode, SpoolSpec, spooled
cameras = {"front": (32, 48, 3)}
encoder = EncoderProcess(job_for(Path(sys.argv[1]), cameras)).__enter__()
for episode in range(3):
    for tick in ticks(episode, 20, cameras):
        encoder.add(tick)
    if episode < 2:
        encoder.save_episode()
while encoder._waiting.qsize():
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_episodes_that_had_ended_are_saved_although_their_recorder_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    code = subprocess.run([sys.executable, "-c", KILLED, str(root)], cwd=Path(__file__).parents[3]).returncode
    assert code == -signal.SIGKILL
    with EncoderProcess(job_for(root, {"front": (32, 48, 3)}, resume=True)) as encoder:  # waits for the other one
        assert encoder.episodes == 2
        encoder.finish()
    assert read_metadata(root).total_frames == 40
    assert hidden(root) == []


def test_a_camera_that_lies_about_its_size_is_named(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with EncoderProcess(job_for(root, {"front": (32, 48, 3)})) as encoder:
        encoder.add(tick_of(0, 0, {"front": (16, 16, 3)}))
        encoder.save_episode()
        with pytest.raises(RobotFault, match=r"'front' gave a picture of \(16, 16, 3\).*\(32, 48, 3\)"):
            wait_until(lambda: bool(encoder.look()))


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="already exists"), EncoderProcess(job_for(tmp_path, encoding=FAST)):
        pass


def test_depth_goes_into_the_dataset_as_it_was_measured(tmp_path: Path) -> None:
    root, shape = tmp_path / "cube", (12, 16, 1)
    depth = np.arange(12 * 16, dtype=np.uint16).reshape(shape) * 300
    tick = tick_of(0, 0)
    deep = replace(tick, reading=replace(tick.reading, frames={"front_depth": Frame(depth, 0.0, 0)}))
    with EncoderProcess(job_for(root, {"front_depth": shape})) as encoder:
        encoder.add(deep)
        encoder.save_episode()
        encoder.finish()
    assert read_metadata(root).info.features["observation.images.front_depth"].is_depth
    stored = pq.read_table(root / "data/chunk-000/file-000.parquet")["observation.images.front_depth"][0].as_py()
    with Image.open(io.BytesIO(stored["bytes"])) as picture:
        assert (np.array(picture) == depth[:, :, 0]).all()


def test_who_waits_for_the_encoder_hears_that_it_has_caught_up(tmp_path: Path) -> None:
    with EncoderProcess(job_for(tmp_path / "cube")) as encoder:
        assert encoder._process is not None
        encoder._process.send_signal(signal.SIGSTOP)
        for tick in ticks(0, 400):
            encoder.add(tick)
        encoder._process.send_signal(signal.SIGCONT)  # it is through with all of them within a moment
        encoder._wait_for(lambda: encoder.waiting < 256, 60)


def test_a_value_that_is_no_number_is_told_and_nobody_waits(tmp_path: Path) -> None:
    sent: Any = {"pan.pos": "left", "gripper.pos": 0.0}
    strange = replace(tick_of(0, 0), sent=sent)
    with EncoderProcess(job_for(tmp_path / "cube")) as encoder:

        def is_told() -> bool:
            encoder.add(strange)
            return False

        with pytest.raises(RobotFault, match=r"a tick cannot be stored: .*left"):
            wait_until(is_told)
