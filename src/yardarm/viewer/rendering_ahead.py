"""Draws and renders what the reader of a run will want next, while nobody waits for anything.

    pages                   Rendering                     RenderingAhead: a thread, and a worker of the lowest priority
    open a run ────────────────────────────── open() ───▶ its pictures, then videos of its first failures, one by one
    want a video ─────────▶ start() ──── step_aside() ──▶ gives up what it makes, and begins again
                            renders                       when nobody has waited for a few seconds

What was made is kept in the run's folder, like everything that was asked for.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from yardarm.engine import EngineOptions
from yardarm.envs import ProcessPool
from yardarm.errors import UsageError
from yardarm.replay import BACKGROUND, LastPicture, Replay, StopSign, draw_pictures, replay_all
from yardarm.viewer.rendering import Rendering
from yardarm.workspace import RunCatalogue

__all__ = ["RenderingAhead"]

# Whoever opens a page may click on an episode next.
IDLE_S = 2.0
LOOK_EVERY_S = 2.0
MOST_RUNS = 4
CLOSE_WITHIN_S = 3.0
# Videos are small, but a full disk would stop somebody's evaluation.
FREE_BYTES = 2_000_000_000

Work = LastPicture | Replay


class RenderingAhead:
    """Works for the runs that were opened last; never for one that refers to code, nor while a run is being played."""

    def __init__(self, catalogue: RunCatalogue, rendering: Rendering) -> None:
        self._catalogue = catalogue
        self._rendering = rendering
        self._opened: OrderedDict[str, None] = OrderedDict()
        self._tried: set[Path] = set()
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._closed = threading.Event()
        self._sign: StopSign | None = None
        self._thread = threading.Thread(target=self._work, name="rendering-ahead", daemon=True)
        rendering.step_aside.append(self._step_aside)

    def open(self, name: str) -> None:
        """A page shows this run."""
        with self._lock:
            self._opened[name] = None
            self._opened.move_to_end(name)
            while len(self._opened) > MOST_RUNS:
                self._opened.popitem(last=False)
            if self._thread.ident is None and not self._closed.is_set():  # it has never been started
                self._thread.start()

    def leave(self, folder: Path) -> None:
        """Make nothing more in a folder, which is about to be moved."""
        with self._lock:
            for name in [name for name in self._opened if self._catalogue.viewed.path(name).is_relative_to(folder)]:
                del self._opened[name]
        self._step_aside()
        if not self._making.acquire(timeout=CLOSE_WITHIN_S):
            raise UsageError(f"a picture of {folder.name} is being rendered; try again in a moment")
        self._making.release()

    def close(self) -> None:
        """Give up what is being made; a simulator that is being imported cannot be interrupted, and is left behind."""
        self._closed.set()
        self._step_aside()
        if self._thread.is_alive():
            self._thread.join(CLOSE_WITHIN_S)

    def _step_aside(self) -> None:
        if self._sign is not None:
            self._sign.stop()

    def _work(self) -> None:
        while not self._closed.wait(LOOK_EVERY_S):
            if (work := self._next()) is None:
                continue
            pool = ProcessPool(1, time_limit_s=EngineOptions().timeout_s, nice=BACKGROUND)
            with contextlib.closing(pool):
                while work is not None:
                    self._make(work, pool)
                    work = self._next()

    def _next(self) -> Work | None:
        """The next thing to make, of the run that was opened last; None while anybody wants anything else."""
        if self._closed.is_set() or self._rendering.idle_s < IDLE_S:
            return None
        with self._lock:
            names = list(reversed(self._opened))
        work = next((work for name in names if (work := self._missing(name))), None)
        return work if work and not self._is_in_the_way() else None

    def _missing(self, name: str) -> Work | None:
        try:
            stored = self._catalogue.stored_run(name)
            works: list[Callable[[], list[LastPicture] | list[Replay]]] = [
                stored.missing_pictures,
                stored.missing_videos,
            ]
            return next((work for find in works for work in find() if work.path not in self._tried), None)
        except Exception:  # it is gone, damaged, or cannot be rendered without the user's consent: its page says so
            return None

    def _is_open(self, path: Path) -> bool:
        with self._lock:
            return any(path.is_relative_to(self._catalogue.viewed.path(name)) for name in self._opened)

    def _is_in_the_way(self) -> bool:
        """Whether a run is being played here, or the disk is nearly full."""
        try:
            if shutil.disk_usage(self._catalogue.viewed.root).free < FREE_BYTES:
                return True
        except OSError:
            return True  # the folder is gone
        return any(line["status"] == "running" for line in self._catalogue.lines())

    def _make(self, work: Work, pool: ProcessPool) -> None:
        """Make it, unless somebody wants something meanwhile; then it is made later."""
        with self._making, StopSign() as self._sign:
            if not self._is_open(work.path):
                return
            try:
                if isinstance(work, LastPicture):
                    list(draw_pictures([work], pool, self._sign.descriptor))
                else:
                    pool.choose_renderer([work.episode.task])
                    list(replay_all([work], pool, until=self._sign.descriptor))
            except Exception:  # the page of the episode tries again, and says what is wrong
                self._tried.add(work.path)
            finally:
                pool.dismiss_all()
            if not self._sign.is_raised:
                self._tried.add(work.path)
