"""Demonstrations without hardware: a script moves a twin of the command's own, and says when an episode is over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.helpers import yardarm
from yardarm.datasets import read_metadata
from yardarm.datasets.browsing import read_frames
from yardarm.robots.twins.world import TwinWorld

ARM = ["--robot.type=so101_follower", "--robot.port=twin", "--robot.num_read_retries=20"]
SCRIPT = ["--teleop.type=scripted_pick_place", "--twin.scene=cube_and_box", "--dataset.push_to_hub=false"]
TIMES = ["--dataset.episode_time_s=12", "--dataset.reset_time_s=2", "--twin.realtime=false"]


def record(folder: Path, episodes: int, *more: str, times: Sequence[str] = TIMES) -> str:
    dataset = [
        "--dataset.repo_id=me/cube",
        f"--dataset.root={folder}",
        f"--dataset.num_episodes={episodes}",
        "--dataset.single_task=Put the cube into the box.",
    ]
    answer = yardarm("record", *ARM, *SCRIPT, *times, *dataset, *more, timeout=600)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def values(folder: Path, *features: str) -> dict[str, Any]:
    meta = read_metadata(folder)
    return dict(read_frames(meta, list(meta.episodes), list(features)))


def test_the_script_ends_episodes_and_each_begins_at_home_with_another_scene(tmp_path: Path) -> None:
    said = record(tmp_path / "cube", 2)
    meta = read_metadata(tmp_path / "cube")
    lengths = [episode.length for episode in meta.episodes]
    assert all(5 * 30 < length < 8 * 30 for length in lengths), lengths
    assert "0 late, 0 missed" in said
    states = values(tmp_path / "cube", "observation.state")["observation.state"]
    first, second = states[0], states[lengths[0]]
    assert second == pytest.approx(first, abs=1.0), "it went home"
    at_the_cube = 2 * 30
    assert states[at_the_cube] != pytest.approx(states[lengths[0] + at_the_cube], abs=2.0), "the cube lies elsewhere"


def test_recorded_actions_succeed_in_the_world_at_the_recordings_rate(tmp_path: Path) -> None:
    record(tmp_path / "cube", 2, "--dataset.fps=10", "--twin.seed=7")
    frames = values(tmp_path / "cube", "episode_index", "observation.state", "action")
    world = TwinWorld("cube_and_box", 10)
    for number in range(2):
        own = np.asarray(frames["episode_index"]).ravel() == number
        actions, states = frames["action"][own], frames["observation.state"][own]
        world.reset(7 + number)
        for action, state in zip(actions, states, strict=True):
            # Motors have steps of 0.09°, and the second episode begins where the arm came home to.
            assert world.positions() == pytest.approx(state.tolist(), abs=1.0)
            world.act(action.tolist())
        assert world.success, number


@pytest.mark.slow
def test_a_recording_with_pictures_is_the_same_to_the_bit_each_time(tmp_path: Path) -> None:
    cameras = "--robot.cameras={front: {type: sim, width: 64, height: 48, fps: 30}}"
    for name in ("one", "other"):
        record(tmp_path / name, 1, cameras)
    one, other = (values(tmp_path / name, "observation.state", "action") for name in ("one", "other"))
    for feature in one:
        np.testing.assert_array_equal(one[feature], other[feature])
    videos = [next((tmp_path / name / "videos").rglob("*.mp4")).read_bytes() for name in ("one", "other")]
    assert videos[0] == videos[1]


def test_no_episode_begins_with_pictures_of_the_last_scene(tmp_path: Path) -> None:
    camera = "--robot.cameras={front: {type: sim, width: 96, height: 72, fps: 30}}"
    short = ["--dataset.episode_time_s=1.5", "--dataset.reset_time_s=0.5", "--twin.realtime=true"]
    record(tmp_path / "cube", 3, camera, times=short)
    meta = read_metadata(tmp_path / "cube")
    for episode in meta.episodes[1:]:
        place = episode.videos["observation.images.front"]
        with av.open(str(meta.video_file(episode, "observation.images.front"))) as video:
            pictures = [picture.to_ndarray(format="rgb24") for picture in video.decode(video=0)]
        first = round(place.start_s * meta.fps)
        at_first, soon = (_place_of_the_cube(pictures[first + frame]) for frame in (0, min(8, episode.length - 1)))
        assert at_first == pytest.approx(soon, abs=2), "the cube has not been touched yet"


def _place_of_the_cube(picture: np.ndarray) -> tuple[float, float]:
    red, green, _ = np.moveaxis(picture.astype(int), -1, 0)
    rows, columns = np.nonzero((red > 100) & (green < 70))
    return float(np.median(rows)), float(np.median(columns))
