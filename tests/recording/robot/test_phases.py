"""The sequence of a recording, with a loop that does what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.recording.robot.ticks import job_for, tick_of
from yardarm.control import Tick
from yardarm.datasets import read_metadata
from yardarm.errors import RobotFault
from yardarm.recording.robot import EncoderProcess, Phases, RobotDatasetOptions, RobotRecordingListener, Wish, Wishes
from yardarm.robots import HostClock, Keys

Stop = Callable[[], bool]


def record(root: Path, ticks: Callable[[float, Stop], Iterator[Tick]], pressed: Wish | None = None) -> None:
    wishes = Wishes(Keys(fd=-1))
    if pressed is not None:
        wishes.button(pressed)()
    options = RobotDatasetOptions(root=root, single_task="wave", num_episodes=2)
    with EncoderProcess(job_for(root)) as encoder:
        try:
            Phases(options, ticks, HostClock(), encoder, wishes, RobotRecordingListener()).run()
        finally:
            encoder.finish()


def test_esc_stops_an_arm_that_holds_still(tmp_path: Path) -> None:
    turns = []

    def ticks(seconds: float, stop: Stop) -> Iterator[Tick]:
        while not stop():
            turns.append(seconds)
            assert len(turns) < 10
        yield from ()

    record(tmp_path / "cube", ticks, Wish.STOP)
    assert read_metadata(tmp_path / "cube").total_episodes == 0


def test_other_keys_wait_for_the_first_frame(tmp_path: Path) -> None:
    def ticks(seconds: float, stop: Stop) -> Iterator[Tick]:
        for index in range(6):
            if stop():
                return
            if index >= 3:  # until then the arm holds still
                yield tick_of(0, index)

    record(tmp_path / "cube", ticks, Wish.END)
    assert [episode.length for episode in read_metadata(tmp_path / "cube").episodes] == [1, 3]


def test_an_episode_without_a_frame_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(RobotFault, match="nothing could be recorded in 60 s"):
        record(tmp_path / "cube", lambda seconds, stop: iter(()))


def test_an_interruption_after_the_last_frame_keeps_the_episode(tmp_path: Path) -> None:
    class Interrupted(Phases):
        def _keep(self) -> None:
            if not self._done:
                self._done = 1
                raise KeyboardInterrupt
            super()._keep()

    root = tmp_path / "cube"
    options = RobotDatasetOptions(root=root, single_task="wave", num_episodes=2)
    with EncoderProcess(job_for(root)) as encoder:
        phases = Interrupted(
            options,
            lambda seconds, stop: (tick_of(0, index) for index in range(4)),
            HostClock(),
            encoder,
            Wishes(Keys(fd=-1)),
            RobotRecordingListener(),
        )
        with pytest.raises(KeyboardInterrupt):
            phases.run()
        encoder.finish()
    assert [episode.length for episode in read_metadata(root).episodes] == [4]
