"""What the viewer makes while nobody waits, and that whoever waits comes first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from toy_world import ToyConfig

import yardarm
from tests.helpers import launchers, wait_until
from tests.pages.runs import SLOWLY, toy_run
from yardarm.replay import ReplayResult, StoredRun, replay_all
from yardarm.results import Journal, RunFolder
from yardarm.viewer import rendering_ahead
from yardarm.viewer.rendering import Rendering
from yardarm.viewer.rendering_ahead import RenderingAhead
from yardarm.workspace import RunCatalogue, ViewedFolder


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering_ahead, "IDLE_S", 0.05)
    monkeypatch.setattr(rendering_ahead, "LOOK_EVERY_S", 0.01)


@pytest.fixture
def rendering() -> Iterator[Rendering]:
    with closing(Rendering()) as rendering:
        yield rendering


@pytest.fixture
def ahead(tmp_path: Path, rendering: Rendering) -> Iterator[RenderingAhead]:
    with closing(RenderingAhead(RunCatalogue(ViewedFolder(tmp_path)), rendering)) as ahead:
        yield ahead


def made(run: Path) -> list[str]:
    return sorted(path.suffix for kind in ("pictures", "videos") for path in (run / kind).rglob("episode_*[4g]"))


def test_an_opened_run_gets_its_pictures_and_videos_of_its_failures(tmp_path: Path, ahead: RenderingAhead) -> None:
    result = toy_run(tmp_path / "run", n_episodes=2, pictures=0)
    failures = len(result.episodes) - result.counts.successes
    ahead.open("run")
    wait_until(lambda: made(tmp_path / "run") == [".jpg"] * 4 + [".mp4"] * failures)
    wait_until(lambda: not launchers())
    assert not StoredRun(RunFolder(tmp_path / "run")).missing_videos()


def test_whoever_wants_a_video_comes_first(
    tmp_path: Path, rendering: Rendering, ahead: RenderingAhead, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def begin(*words: Any, **more: Any) -> Iterator[ReplayResult]:
        begun.set()
        return replay_all(*words, **more)

    monkeypatch.setattr(rendering_ahead, "replay_all", begin)
    slow = ToyConfig(task="left", max_steps=8, step_s=0.2)
    yardarm.evaluate(SLOWLY, slow, n_episodes=2, output_dir=tmp_path / "run", batch_size=2, pictures=0)
    stored = StoredRun(RunFolder(tmp_path / "run"))
    ahead.open("run")
    assert begun.wait(60)
    job = rendering.start(stored.replay(stored.find("left", 1)))
    wait_until(lambda: job.finished)
    assert job.problem is None
    assert not stored.replay(stored.find("left", 0)).path.exists()  # it was given up, and is made later
    wait_until(lambda: not stored.missing_videos())


def test_nothing_is_made_while_a_run_is_being_played(tmp_path: Path, ahead: RenderingAhead) -> None:
    toy_run(tmp_path / "run", n_episodes=1, pictures=0)
    toy_run(tmp_path / "other", n_episodes=1, pictures=0)
    folder = RunFolder(tmp_path / "other")
    text = folder.manifest.read_text()
    with Journal(folder.journal):
        folder.manifest.write_text(text.replace('"finished"', '"running"'))
        ahead.open("run")
        wait_until(ahead._is_in_the_way)
        assert ahead._next() is None
        assert not made(tmp_path / "run")
        folder.manifest.write_text(text)
    wait_until(lambda: ".jpg" in made(tmp_path / "run"))


def test_code_that_a_run_names_never_runs(tmp_path: Path, ahead: RenderingAhead) -> None:
    toy_run(tmp_path / "run", n_episodes=1, pictures=0)
    config = RunFolder(tmp_path / "run").config
    data = yaml.safe_load(config.read_text())
    data["env"]["python"] = str(tmp_path / "evil")
    config.write_text(yaml.safe_dump(data))
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "evil").chmod(0o755)
    ahead.open("run")
    assert ahead._missing("run") is None
    assert not (tmp_path / "ran").exists()


def test_a_nearly_full_disk_is_left_alone(
    tmp_path: Path, ahead: RenderingAhead, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_run(tmp_path / "run", n_episodes=1, pictures=0)
    monkeypatch.setattr(rendering_ahead, "FREE_BYTES", 10**18)
    ahead.open("run")
    assert ahead._missing("run") is not None
    assert ahead._next() is None
