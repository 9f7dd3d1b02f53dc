"""Pictures of the first failures, drawn beside an evaluation and never in its way.

    evaluation                        a thread                            workers of the lowest priority
    plays episodes                    every second: has it spent less
                                      than 2% of the time so far? ──────▶ play one again, look once
    all is played: finish() ────────▶ the rest, on all cores, ──────────▶ play them again, look once
      waits                           until its seconds are spent
    Ctrl-C ends the waiting ────────▶ gives up what is not there

An evaluation of an hour has its pictures after a few minutes, one of ten seconds at its end.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yardarm.envs import ProcessPool
from yardarm.errors import YardarmError, one_line
from yardarm.evaluation.listener import EvaluationListener
from yardarm.machine import usable_cores

if TYPE_CHECKING:
    from yardarm.replay import LastPicture

__all__ = ["Pictures"]

# What pictures may add to the time of an evaluation, while it plays and after it.
MEANWHILE, AFTERWARDS = 0.02, 0.5
LOOK_EVERY_S = 1.0
# What a picture costs, before the first one has told; for less, it is not worth beginning.
USUAL_S = 2.0
# A simulator that is being imported cannot be interrupted: nobody waits longer for it.
LEAVE_WITHIN_S = 1.0


class Pictures:
    """Draws what `missing` lists, for at most `seconds`.

    Where nobody watches, it is for at most half as long as the evaluation itself took, too.
    """

    def __init__(
        self,
        seconds: float,
        missing: Callable[[], Sequence[LastPicture]],
        timeout_s: float,
        listener: EvaluationListener,
    ) -> None:
        from yardarm.replay import StopSign

        self._seconds, self._missing, self._timeout_s, self._listener = seconds, missing, timeout_s, listener
        self._began = time.monotonic()
        self._spent, self._usual = 0.0, USUAL_S
        self._tried: set[Path] = set()
        self._played = threading.Event()
        self._sign = StopSign()
        self._thread = threading.Thread(target=self._work, name="pictures", daemon=True)

    def __enter__(self) -> Pictures:
        if self._seconds:
            self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._sign.stop()
        self._played.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_WITHIN_S)
        if not self._thread.is_alive():
            self._sign.close()

    def finish(self) -> None:
        """Everything is played: wait for the rest. Ctrl-C skips it, as the results are complete without pictures."""
        self._played.set()
        if self._thread.is_alive():
            with contextlib.suppress(KeyboardInterrupt):
                self._thread.join()

    def _work(self) -> None:
        from yardarm.replay import BACKGROUND

        # It starts nothing before there is something to draw.
        pool = ProcessPool(1, time_limit_s=self._timeout_s, nice=BACKGROUND)
        try:
            while not self._played.wait(LOOK_EVERY_S):
                if self._left(MEANWHILE) > self._usual and (wanted := self._wanted()):
                    self._draw(wanted[:1], pool)
            left = self._left(math.inf if self._listener.waits_for_pictures else AFTERWARDS)
            if not self._sign.is_raised and left > USUAL_S and (wanted := self._wanted()):
                self._listener.drawing(len(wanted))
                pool.size = min(usable_cores(), len(wanted))
                with self._sign.after(left):
                    self._draw(wanted, pool)
        except Exception as error:  # whatever it is: an evaluation is complete without pictures
            self._listener.not_drawn(str(error) if isinstance(error, YardarmError) else one_line(error))
        finally:
            pool.close()

    def _left(self, share: float) -> float:
        """The seconds that are left of this share of the evaluation's own time so far."""
        return min(self._seconds, share * (time.monotonic() - self._began)) - self._spent

    def _wanted(self) -> list[LastPicture]:
        return [picture for picture in self._missing() if picture.path not in self._tried]

    def _draw(self, wanted: Sequence[LastPicture], pool: ProcessPool) -> None:
        from yardarm.replay import draw_pictures

        started = time.monotonic()
        for picture in draw_pictures(wanted, pool, self._sign.descriptor):
            self._tried.add(picture.path)
        pool.dismiss_all()  # their memory belongs to the evaluation
        took = time.monotonic() - started
        self._spent += took
        self._usual = took / len(wanted)
