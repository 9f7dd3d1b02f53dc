"""Videos in the making: made once for all who ask, and given up when the viewer closes."""

from __future__ import annotations

from pathlib import Path

from toy_world import ToyConfig

import yardarm
from tests.helpers import launchers, wait_until
from tests.pages.runs import SLOWLY, toy_run
from yardarm.replay import Replay, StoredRun
from yardarm.results import RunFolder
from yardarm.viewer.rendering import Rendering


def replay_of(run: Path, task: str, camera: str = "") -> Replay:
    stored = StoredRun(RunFolder(run))
    return stored.replay(stored.find(task, 0), camera)


def test_many_who_ask_for_a_video_wait_for_the_same_one(tmp_path: Path) -> None:
    toy_run(tmp_path / "run", n_episodes=1)
    rendering = Rendering()
    first, *others = [rendering.start(replay_of(tmp_path / "run", "left")) for _ in range(5)]
    other = rendering.start(replay_of(tmp_path / "run", "left", "side"))
    wait_until(lambda: first.finished and other.finished)
    rendering.close()
    assert all(job is first for job in others)
    names = [path.name for path in sorted((tmp_path / "run" / "videos").rglob("*.mp4"))]
    assert names == ["episode_00000_front.mp4", "episode_00000_side.mp4"]


def test_what_is_not_finished_is_given_up_and_leaves_nothing(tmp_path: Path) -> None:
    slow = ToyConfig(task="left", max_steps=10, step_s=0.4)
    yardarm.evaluate(SLOWLY, slow, n_episodes=1, output_dir=tmp_path / "run", batch_size=1)
    rendering = Rendering()
    job = rendering.start(replay_of(tmp_path / "run", "left"))
    wait_until(lambda: job.done > 1)
    rendering.close()
    assert job.done < job.frames
    assert job.finished
    assert job.problem == "the viewer was closed"
    assert not launchers()
    assert not list((tmp_path / "run" / "videos").rglob("*.mp4"))
