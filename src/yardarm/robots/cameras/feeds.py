"""How pictures come from a device to whoever looks: by a thread that reads all the time, or when they are asked for.

     reader thread                                whoever looks
open ──▶ next picture ──▶ check, turn ──▶ newest shot ──▶ newest()          at once
  ▲           │ fails, or has the wrong size   └────────▶ after(number, s)  waits
  └─ back-off ┘ and nothing for a while: named, restarted
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from yardarm.errors import CameraFault, in_words
from yardarm.robots.cameras.shots import CameraStatus, FreezeWatch, Shot, finished

if TYPE_CHECKING:
    from yardarm.robots.cameras.camera import Camera

__all__ = ["Feed", "SteppedFeed", "ThreadFeed"]

log = logging.getLogger(__name__)

# A camera that fails is stalled after this many periods, and not before this many seconds: a busy machine is no stall.
# One that makes more than one pause of this length, but comes back by itself, is slow.
STALL_PERIODS, PAUSE_S = 5, 0.5
# When a camera is known to be slow, it is called stalled after this many of its longest pauses.
STALL_PAUSES = 5
# Before its first picture a camera gets more time than `connect` waits for it.
START_S = 10.0
USUAL_FPS = 30.0
BACK_OFF_S = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
# Longer than any device waits for a picture.
JOIN_S = 5.0


class Feed(ABC):
    """What stands between a camera's device and whoever looks."""

    @abstractmethod
    def newest(self) -> Shot | None:
        """The newest shot, at once; None if there is none."""

    @abstractmethod
    def after(self, number: int, timeout_s: float) -> Shot | None:
        """The newest shot, as soon as it has at least this number; None if that takes too long."""

    @abstractmethod
    def status(self) -> CameraStatus:
        """How the camera is."""

    @property
    def problem(self) -> str:
        """Why nothing came the last time; empty if something did."""
        return ""

    @abstractmethod
    def stop(self) -> None:
        """Close the device."""


class ThreadFeed(Feed):
    """Reads in a thread of its own. The thread waits by the machine's clock; the camera's clock stamps the shots."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._shot: Shot | None = None
        self._frames = self._restarts = 0
        self._freeze = FreezeWatch()
        self._alive_s = time.monotonic()  # the last sign of life, or the start
        self._is_named = self._is_refused = False
        self._problem = ""
        self._pauses = 0
        self._slow_s = 0.0
        _open(camera)
        self._thread = threading.Thread(target=self._run, name=f"camera {camera.name}", daemon=True)
        self._thread.start()

    # Whoever looks.

    def newest(self) -> Shot | None:
        """The newest shot."""
        self._name_stall()
        return self._shot

    def after(self, number: int, timeout_s: float) -> Shot | None:
        """Wait for a shot."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_refused or self._has(number), timeout_s)
            shot = self._shot if self._has(number) else None
        self._name_stall()
        return shot

    def _has(self, number: int) -> bool:
        return self._shot is not None and self._shot.number >= number

    def status(self) -> CameraStatus:
        """How the camera is."""
        self._name_stall()
        shot, now = self._shot, self._camera.clock.now()
        age = None if shot is None else now - shot.captured_s
        frozen = self._camera.has_noise and self._freeze.is_frozen(time.monotonic())
        return CameraStatus(self._camera.name, self._is_stalled(), age, self._restarts, self._frames, frozen)

    @property
    def problem(self) -> str:
        """Why the last read failed."""
        return self._problem

    def stop(self) -> None:
        """End the thread, which closes the device."""
        self._stopping.set()
        self._thread.join(JOIN_S)
        if self._thread.is_alive():
            log.warning("%s does not stop; its device may stay busy until this program ends", self._camera)

    def _is_stalled(self) -> bool:
        return time.monotonic() - self._alive_s > self._patience_s

    @property
    def _patience_s(self) -> float:
        if self._shot is None:
            return START_S
        if self._problem:  # it fails, and is not only slow
            return max(PAUSE_S, STALL_PERIODS * self._period_s)
        return max(self._camera.stall_s, STALL_PERIODS * self._period_s, STALL_PAUSES * self._slow_s)

    @property
    def _period_s(self) -> float:
        return 1 / (self._camera.config.fps or USUAL_FPS)

    def _name_stall(self) -> None:
        """Say once that nothing comes any more, whoever notices first."""
        if not self._is_stalled():
            return
        with self._changed:
            if self._is_named or self._stopping.is_set():
                return
            self._is_named = True
        log.warning(
            "%s has given no picture for %.1f s%s; restarting it",
            *(self._camera, time.monotonic() - self._alive_s, f" ({self._problem})" if self._problem else ""),
        )

    # The thread.

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._read_one()
                except Exception as fault:  # a device's library can fail in any way, and may be well again later
                    self._problem = in_words(fault)
                    self._stopping.wait(self._period_s)
                    if self._is_stalled():
                        self._restart()
        finally:
            _close(self._camera)

    def _read_one(self) -> None:
        camera = self._camera
        delivery = camera.next_picture(self._stopping)
        now = camera.clock.now()
        if delivery is None:
            return
        captured_s = now if delivery.captured_s is None else delivery.captured_s
        try:
            shot = finished(delivery, camera.config, camera.given_colors, self._frames, captured_s)
        except CameraFault as fault:
            self._refuse(fault)
            raise
        if camera.has_noise:
            self._freeze.look(delivery, time.monotonic())
        silence, came_by_itself = time.monotonic() - self._alive_s, not self._problem and self._shot is not None
        self._alive_s, self._problem = time.monotonic(), ""
        with self._changed:
            self._shot, self._frames, self._is_refused = shot, self._frames + 1, False
            was_named, self._is_named = self._is_named, False
            self._changed.notify_all()
        is_slow = came_by_itself and self._is_slow(silence)
        if was_named and not is_slow:
            log.warning("%s is back after %.1f s", camera, silence)

    def _is_slow(self, pause_s: float) -> bool:
        """Whether the camera is known to make such pauses; said once, with what to do."""
        if pause_s <= max(PAUSE_S, STALL_PERIODS * self._period_s):
            return False
        self._pauses += 1
        if self._pauses == 2:
            what_to_do = self._camera.when_slow
            log.warning("%s is slow: a picture takes it up to %.1f s; %s", self._camera, pause_s, what_to_do)
        if self._pauses >= 2:
            self._slow_s = max(self._slow_s, pause_s)
        return self._pauses >= 2

    def _refuse(self, fault: CameraFault) -> None:
        """Let `connect` end at once if the very first picture is not what was asked for."""
        with self._changed:
            self._problem, self._is_refused = str(fault), self._shot is None
            self._changed.notify_all()

    def _restart(self) -> None:
        """Close and open the device, again and again, less and less often."""
        self._name_stall()
        for attempt in range(10**9):
            _close(self._camera)
            if self._stopping.wait(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]):
                return
            self._restarts += 1
            try:
                self._camera.open_device()
                if not self._stopping.is_set():  # opening may have taken seconds
                    self._read_one()
                return
            except Exception as fault:  # as above
                self._problem = in_words(fault)


def _open(camera: Camera) -> None:
    """Open a camera's device, or leave nothing of it open."""
    try:
        camera.open_device()
    except BaseException:
        _close(camera)
        raise


def _close(camera: Camera) -> None:
    """Close a camera's device; what its library says to that changes nothing."""
    try:
        camera.close_device()
    except Exception as fault:
        log.warning("%s could not be closed: %s", camera, in_words(fault))


class SteppedFeed(Feed):
    """Asks the device when somebody looks: for pictures that follow a clock that only passes while somebody waits."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._shot: Shot | None = None
        self._frames = 0
        _open(camera)

    def newest(self) -> Shot | None:
        """The picture of this moment."""
        camera = self._camera
        try:
            taken = camera.picture_at(camera.clock.now())
            if taken is not None:
                captured_s, delivery = taken
                self._shot = finished(delivery, camera.config, camera.given_colors, self._frames, captured_s)
                self._frames += 1
        except CameraFault as fault:
            raise CameraFault(f"{camera}: {fault}") from None
        return self._shot

    def after(self, number: int, timeout_s: float) -> Shot | None:
        """Wait by the camera's clock, period by period."""
        clock, period = self._camera.clock, 1 / (self._camera.config.fps or USUAL_FPS)
        ends = clock.now() + timeout_s
        while (shot := self.newest()) is None or shot.number < number:
            if clock.now() >= ends:
                return None
            clock.wait_until(min(clock.now() + period, ends))
        return shot

    def status(self) -> CameraStatus:
        """Pictures that are made on demand never stall."""
        age = None if self._shot is None else self._camera.clock.now() - self._shot.captured_s
        return CameraStatus(self._camera.name, False, age, 0, self._frames)

    def stop(self) -> None:
        """Close the device."""
        self._camera.close_device()
