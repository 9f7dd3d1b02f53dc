"""Pictures of the ends of episodes: which are drawn, and that they show what happened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.pages.runs import toy_run
from yardarm.envs import ProcessPool
from yardarm.replay import BACKGROUND, LastPicture, StopSign, StoredRun, draw_missing, draw_pictures
from yardarm.results import EpisodeKey, EpisodeRecord, RunFolder, first_to_see


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    toy_run(run, pictures=0)
    return run


@pytest.fixture
def run(played: Path, tmp_path: Path) -> StoredRun:
    return StoredRun(RunFolder(shutil.copytree(played, tmp_path / "run")))


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with closing(ProcessPool(2, time_limit_s=60)) as pool:
        yield pool


def records(outcomes: dict[str, str]) -> list[EpisodeRecord]:
    letters = {"s": "success", "f": "failure", "e": "error"}
    return [
        EpisodeRecord(EpisodeKey("policy", "toy", "", task, index, index), letters[letter])  # type: ignore[arg-type]
        for task, own in outcomes.items()
        for index, letter in enumerate(own)
    ]


def chosen(outcomes: dict[str, str]) -> list[str]:
    return [f"{record.key.task}{record.key.index}" for record in first_to_see(records(outcomes))]


def test_failures_come_first_and_every_task_has_its_turn() -> None:
    assert chosen({"a": "fffffff", "b": "sf", "c": "ssff"}) == ["a0", "b1", "c2", "a1", "c3", "a2", "b0"]


def test_errors_are_not_shown_and_successes_alone_are_few() -> None:
    assert chosen({"a": "essss", "b": "ee"}) == ["a1", "a2", "a3"]
    assert chosen({"a": "ee"}) == []


def test_a_picture_shows_the_last_step_and_nothing_before(run: StoredRun, pool: ProcessPool) -> None:
    wanted = run.missing_pictures()
    assert [picture.record.success for picture in wanted] == [False, False, False, True, False, False, True]
    assert len(list(draw_pictures(wanted, pool))) == 7
    assert not run.missing_pictures()
    for picture in wanted:
        with Image.open(picture.path) as image:
            assert max(image.size) <= 320
            shade = int(np.asarray(image)[5, 5, 0])
        assert shade == pytest.approx(_shade_at_the_end(picture), abs=2)


def _shade_at_the_end(picture: LastPicture) -> int:
    """The toy draws where its point is, and rewards how near that is to the goal."""
    goal = {"left": -1.0, "right": 1.0}[picture.record.key.task]
    distance = -float(picture.folder.load_played(picture.record.key).rewards[-1])
    end = goal - distance if goal > 0 else goal + distance
    return int(abs(end) * 100) % 256


def test_a_replay_that_goes_another_way_leaves_no_picture(run: StoredRun, pool: ProcessPool) -> None:
    first, second, *_ = run.missing_pictures()
    key = first.record.key
    shutil.copy(run.folder.actions(second.record.key), run.folder.actions(key))
    assert list(draw_pictures([first], pool)) == [first]
    assert not first.path.exists()


def test_what_a_page_looks_at_is_drawn_at_the_lowest_priority() -> None:
    import psutil

    from tests.helpers import launchers
    from yardarm.tasks import Home

    before = launchers()
    with closing(ProcessPool(1, nice=BACKGROUND)) as pool:
        pool._launchers.start(Home(("toy_world",), ""))
        (launcher,) = [own for own in launchers() if own not in before]
        assert psutil.Process(launcher.pid).nice() == 19


def test_time_that_is_over_ends_the_drawing(run: StoredRun, pool: ProcessPool) -> None:
    with StopSign() as sign:
        sign.stop()
        assert not list(draw_pictures(run.missing_pictures(), pool, sign.descriptor))
    assert not (run.folder.path / "pictures").exists()


def test_missing_pictures_are_drawn_and_counted(run: StoredRun) -> None:
    assert draw_missing(run, 60) == 0
    assert draw_missing(run, 60) == 0
    assert len(list((run.folder.path / "pictures").rglob("*.jpg"))) == 7


def test_a_world_that_cannot_be_replayed_has_no_pictures(tmp_path: Path) -> None:
    from toy_world import ToyConfig

    import yardarm

    world = ToyConfig(task="left", replayable=False)
    yardarm.evaluate("toy-mover", world, n_episodes=1, output_dir=tmp_path / "run")
    assert not StoredRun(RunFolder(tmp_path / "run")).missing_pictures()
