"""Work that takes longer than a request: done in a thread, asked about by pages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from yardarm.errors import UsageError, one_line

__all__ = ["BackgroundJob"]

Progress = tuple[str, int, int]


class BackgroundJob:
    """One piece of work, with what it is at; `work` gets the job, to report to."""

    def __init__(self, work: Callable[[BackgroundJob], Any]) -> None:
        self.progress: Progress | None = None
        self.partial: Any = None
        """What is known before the work is done."""
        self.result: Any = None
        self.problem: str | None = None
        self._work = work
        # A daemon, so that Ctrl-C ends the viewer; an edit that is cut off so leaves the dataset as it was.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def on_progress(self, what: str, done: int, total: int) -> None:
        """Note how far the work is."""
        self.progress = (what, done, total)

    @property
    def state(self) -> str:
        """running, done or failed."""
        if self._thread.is_alive() and self.result is None and self.problem is None:
            return "running"
        return "done" if self.problem is None else "failed"

    def _run(self) -> None:
        try:
            self.result = self._work(self)
        except UsageError as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"This failed: {one_line(error)}"

    def status(self) -> dict[str, Any]:
        """For pages: the state, the progress in words and numbers, and the problem."""
        return {"state": self.state, "progress": self.progress, "problem": self.problem}
