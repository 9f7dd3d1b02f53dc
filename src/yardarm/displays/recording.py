"""Shows a recording while it runs, and its result."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from yardarm.displays.bars import progress_bar
from yardarm.errors import StorageFault, UsageError
from yardarm.recording import RecordedDataset, RecordingListener, SourceEpisode
from yardarm.results import RunResult

__all__ = ["RecordingDisplay"]

PLAIN_LINE_EVERY_S = 10.0


class RecordingDisplay(RecordingListener):
    """A progress bar on a terminal or in a notebook; a line every few seconds in a log file."""

    def __init__(self, console: Console, stopped: Callable[[Path | None, str], None] = lambda run, kept: None) -> None:
        """`stopped` is called after an interruption, with the run's folder, if there is one, and with what is kept."""
        self.console = console
        self._stopped = stopped
        self._progress = progress_bar(console, "saved")
        self._total = self._before = self._saved = 0
        self._last_line = time.monotonic()

    @contextlib.contextmanager
    def writing(self, result: RunResult) -> Iterator[None]:
        """Draw the bar; after an interruption, say how to continue."""
        try:
            with self._progress or contextlib.nullcontext():
                yield
        except (UsageError, StorageFault):
            raise  # the same command would fail again
        except BaseException:
            kept = f"{self._before + self._saved} of {self._before + self._total} episodes are recorded"
            self._stopped(result.path, kept)
            raise

    def nothing_to_record(self, result: RunResult) -> None:
        """Say so."""
        print(f"yardarm: no episodes to record; the run is in {result.path}", file=sys.stderr)

    def started(self, root: Path, missing: int, frames: int, before: int) -> None:
        """Print what is going to be recorded."""
        self._total, self._before = missing, before
        if self._progress is not None:
            self._bar = self._progress.add_task("frames", total=frames, saved="")
        if not missing:
            self.console.print(f"nothing left to record: all {before} episodes are in {root}", soft_wrap=True)
            return
        known = f" ({before} more are already recorded)" if before else ""
        self.console.print(f"recording {missing} episodes, {frames} frames{known}; {root}", soft_wrap=True)

    def seen(self) -> None:
        """Advance the bar."""
        if self._progress is not None:
            self._progress.advance(self._bar)

    def saved(self, source: SourceEpisode) -> None:
        """Count an episode."""
        self._saved += 1
        now = time.monotonic()
        if self._progress is not None:
            self._progress.update(self._bar, saved=f"{self._saved}/{self._total} episodes")
        elif self._saved == self._total or now - self._last_line > PLAIN_LINE_EVERY_S:
            self._last_line = now
            self.console.print(f"{self._saved}/{self._total} episodes recorded")

    def skipped(self, source: SourceEpisode, reason: str) -> None:
        """Say which episode is not in the dataset."""
        name = f"{source.episode.task.name} episode {source.episode.index}"
        print(f"yardarm: warning: {name} is not in the dataset: {reason}", file=sys.stderr)

    def written(self, dataset: RecordedDataset) -> None:
        """Say what there is now, and what to do with it."""
        size = f"{dataset.size / 1e6:.1f} MB" if dataset.size >= 1e5 else f"{dataset.size / 1e3:.0f} kB"
        self.console.print(
            f"Dataset: {dataset.root} ({dataset.episodes} episodes, {dataset.frames} frames, "
            f"{dataset.tasks} task(s), {size})",
            soft_wrap=True,
        )
        view = shlex.join(["yardarm", "dataset", "view", str(dataset.root)])
        self.console.print(f"View it: {view}", soft_wrap=True)
        if dataset.skipped:
            print(
                f"yardarm: {dataset.skipped} episodes could not be recorded (see the warnings); the same command "
                "retries them",
                file=sys.stderr,
            )

    def pushed(self, address: str) -> None:
        """Say where it is on the Hub."""
        self.console.print(f"On the Hub: {address}", soft_wrap=True)
