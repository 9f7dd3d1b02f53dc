"""What somebody who records on a robot sees: a line or two that change, and a line for each episode."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from yardarm.control import LiveState
from yardarm.recording.robot import RobotRecordingListener, SavedEpisode

__all__ = ["RobotRecordingDisplay"]

SAY_EVERY_S = 5.0
DURING_EPISODE = "→ or n: end the episode · ← or r: discard it, record it again · Esc or q: stop"
DURING_RESET = "→ or n: next episode now · ← or r: discard the last one, record it again · Esc or q: stop"


class RobotRecordingDisplay(RobotRecordingListener):
    """Changes the note of a live state, and prints what happened."""

    def __init__(self, total: int, fps: float, legend: str = "") -> None:
        """`legend` says how the teleoperator is used, if that needs words."""
        self._total, self._fps, self._legend = total, fps, legend
        self._state: LiveState | None = None
        self._say: Callable[[str], None] = _print
        self._said_s: float | None = None

    @contextmanager
    def shown(self, state: LiveState, say: Callable[[str], None]) -> Iterator[None]:
        """In the block, a live state is shown, and `say` prints a line above it."""
        self._state, self._say = state, say
        try:
            yield
        finally:
            self._state, self._say = None, _print

    def recording(self, number: int, done: int, frames: int, seconds: float, waiting: int) -> None:
        """Show how far the episode is."""
        self._show(
            f"RECORDING episode {number} ({done + 1} of {self._total}) · {seconds:.0f} s · {frames} frames"
            f"{_queue(waiting)}\n{DURING_EPISODE}"
        )

    def resetting(self, number: int, seconds: float, waiting: int) -> None:
        """Show how much time is left."""
        self._show(
            f"RESET: put things back; episode {number} begins in {max(0.0, seconds):.0f} s{_queue(waiting)}\n"
            f"{DURING_RESET}"
        )

    def began(self, number: int) -> None:
        """Say so."""
        self._say(f"recording episode {number}")

    def began_reset(self, number: int) -> None:
        """Say so."""
        self._say("reset: put things back")

    def saved(self, episode: SavedEpisode) -> None:
        """Say what there is now."""
        size = f"{episode.size / 1e6:.1f} MB" if episode.size >= 1e5 else f"{episode.size / 1e3:.0f} kB"
        seconds = episode.frames / self._fps
        self._say(f"episode {episode.index} is saved: {episode.frames} frames, {seconds:.1f} s, {size}")

    def discarded(self, number: int, frames: int) -> None:
        """Say what is not kept."""
        self._say(f"episode {number} is discarded ({frames} frames), and will be recorded again")

    def removed(self, number: int) -> None:
        """Say what is not kept."""
        self._say(f"episode {number} is removed again, and will be recorded again")

    def cut_short(self, number: int, frames: int) -> None:
        """Say what is kept."""
        self._say(f"episode {number} was interrupted after {frames} frames; it is kept as it is")

    def lost(self, number: int, frames: int) -> None:
        """Say what is not kept."""
        self._say(f"episode {number} is not kept: something failed after {frames} frames")

    def finishing(self, count: int) -> None:
        """Say what is done first."""
        episodes = "1 episode that is" if count == 1 else f"{count} episodes that are"
        self._say(f"saving {episodes} recorded, but not in the dataset yet")

    def saving(self, waiting: int) -> None:
        """Say how much is left, when it takes long."""
        now = time.monotonic()
        self._said_s = now if self._said_s is None else self._said_s
        if waiting and now - self._said_s > SAY_EVERY_S:
            self._said_s = now
            frames = "1 frame is" if waiting == 1 else f"{waiting} frames are"
            self._say(f"the arm is released; {frames} still to be encoded (Ctrl-C: in the background)")

    def _show(self, note: str) -> None:
        if self._state is not None:
            self._state.note = f"{note}\n{self._legend}" if self._legend else note


def _print(text: str) -> None:
    print(text, flush=True)


def _queue(waiting: int) -> str:
    return f" · {waiting} wait to be encoded" if waiting > 1 else ""
