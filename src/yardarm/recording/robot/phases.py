"""The sequence of a recording: LeRobot's.

    ┌─▶ episode ── time, or → ──▶ save ──▶ reset (teleoperation goes on) ── time, or → ──┐
    │      ├────── ← ──▶ discard ───────────▲ └── ← ──▶ remove what was saved ───────────┤
    │      └────── Esc ──▶ save, and stop       Esc ──▶ stop                             │
    └────────────────────────────────────────────────────────────────────────────────────┘

An episode is saved while the reset runs. After the last one there is no reset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from yardarm.control import Tick
from yardarm.errors import RobotFault
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.listener import RobotRecordingListener
from yardarm.recording.robot.options import RobotDatasetOptions
from yardarm.recording.robot.wishes import Wish, Wishes
from yardarm.robots import Clock

__all__ = ["Phases", "Ticks"]

Ticks = Callable[[float, Callable[[], bool]], Iterator[Tick]]
"""Teleoperation, for some seconds, or until a function that is called in each turn says so."""


@dataclass
class Phases:
    """A recording, episode by episode."""

    options: RobotDatasetOptions
    ticks: Ticks
    clock: Clock
    encoder: EncoderProcess
    wishes: Wishes
    listener: RobotRecordingListener
    put_back: Callable[[], object] = lambda: None
    """Called at the end of each reset: sets up a twin's scene, as a person would have by then."""
    _number: int = field(default=0, init=False)
    _done: int = field(default=0, init=False)
    _frames: int = field(default=0, init=False)

    def run(self) -> None:
        """Record all episodes, or until the user stops it."""
        self._number = self.encoder.episodes
        try:
            self._run()
        except Exception:
            self._fail()
            raise
        except BaseException:  # Ctrl-C, SIGTERM
            self._cut_short()
            raise

    def _run(self) -> None:
        while self._done < self.options.num_episodes:
            wish = self._episode()
            is_kept = wish is not Wish.AGAIN
            if not self._frames:
                return
            if is_kept:
                self._keep()
            else:
                self._discard()
            if wish is Wish.STOP or self._done == self.options.num_episodes:
                return
            wish = self._reset()
            if wish is Wish.AGAIN and is_kept:
                self._remove()
            if wish is Wish.STOP:
                return

    def _episode(self) -> Wish | None:
        """Record until a key, or until the time is over; there is at least a frame, unless the user stops it."""
        seconds, began, wish = self.options.episode_time_s, self.clock.now(), None

        def stop() -> bool:
            nonlocal wish
            self._hear()
            passed = self.clock.now() - began
            self.listener.recording(self._number, self._done, self._frames, passed, self.encoder.waiting)
            # A key that is pressed before the first frame waits for it, since there is no episode without frames.
            wish = self.wishes.take() or wish
            return wish is Wish.STOP or (wish is not None and self._frames > 0)

        self._frames = 0
        self.listener.began(self._number)
        for tick in self.ticks(seconds, stop):
            self.encoder.add(tick)
            self._frames += 1
        if not self._frames and wish is not Wish.STOP:
            raise RobotFault(
                f"nothing could be recorded in {seconds:g} s: the arm held still all the time, or this machine was busy"
            )
        return wish

    def _reset(self) -> Wish | None:
        """Let the person put things back, with the robot's help."""
        seconds, began, wish = self.options.reset_time_s, self.clock.now(), None

        def stop() -> bool:
            nonlocal wish
            self._hear()
            self.listener.resetting(self._number, seconds - (self.clock.now() - began), self.encoder.waiting)
            wish = self.wishes.take()
            return wish is not None

        self.listener.began_reset(self._number)
        for _ in self.ticks(seconds, stop):
            pass
        self.put_back()
        return wish

    def _keep(self) -> None:
        self.encoder.save_episode()
        self._number += 1
        self._done += 1
        self._frames = 0

    def _discard(self) -> None:
        frames, self._frames = self._frames, 0
        self.encoder.discard_episode()
        self.listener.discarded(self._number, frames)

    def _remove(self) -> None:
        self.encoder.remove_last()
        self._number -= 1
        self._done -= 1
        self.listener.removed(self._number)

    def _cut_short(self) -> None:
        if self._frames:
            self.listener.cut_short(self._number, self._frames)
            self._keep()

    def _fail(self) -> None:
        if self._frames:
            self.listener.lost(self._number, self._frames)
            self._frames = 0

    def _hear(self) -> None:
        for episode in self.encoder.look():
            self.listener.saved(episode)
