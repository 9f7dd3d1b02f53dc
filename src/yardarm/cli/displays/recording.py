"""Shows a recording while it runs, and its result."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from yardarm.cli.flags import Flags, shown_command
from yardarm.errors import YardarmError
from yardarm.evaluation import EvalConfig
from yardarm.recording import Recording, RecordingListener, Take, record_evaluation, recording_of
from yardarm.results import RunResult

__all__ = ["EvaluationRecorder", "RecordingDisplay", "open_recording_display", "say_how_to_continue", "show_recording"]

PLAIN_LINE_EVERY_S = 10.0


class RecordingDisplay(RecordingListener):
    """A line every few seconds, for log files."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = self._before = self.saved_now = 0
        self._last_line = time.monotonic()

    @property
    def kept(self) -> str:
        """How many episodes are on disk, for the message after an interruption."""
        return f"{self._before + self.saved_now} of {self._before + self._total} episodes are recorded"

    def started(self, root: Path, missing: int, frames: int, before: int) -> None:
        """Print what is going to be recorded."""
        self._total, self._before = missing, before
        if not missing:
            self._console.print(f"nothing left to record: all {before} episodes are in {root}", soft_wrap=True)
            return
        known = f" ({before} more are already recorded)" if before else ""
        self._console.print(f"recording {missing} episodes, {frames} frames{known}; {root}", soft_wrap=True)

    def saved(self, take: Take) -> None:
        """Count an episode."""
        self.saved_now += 1
        now = time.monotonic()
        if self.saved_now == self._total or now - self._last_line > PLAIN_LINE_EVERY_S:
            self._last_line = now
            self._print_progress()

    def skipped(self, take: Take, reason: str) -> None:
        """Warn that an episode is not in the dataset."""
        name = f"{take.episode.task.name} episode {take.episode.index}"
        print(f"yardarm: warning: {name} is not in the dataset: {reason}", file=sys.stderr)

    def _print_progress(self) -> None:
        self._console.print(f"{self.saved_now}/{self._total} episodes recorded")


class LiveRecordingDisplay(RecordingDisplay):
    """A progress bar on a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[saved]}"),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )

    def started(self, root: Path, missing: int, frames: int, before: int) -> None:
        """Start the bar."""
        super().started(root, missing, frames, before)
        self._bar = self.progress.add_task("frames", total=frames, saved="")

    def seen(self) -> None:
        """Advance the bar."""
        self.progress.advance(self._bar)

    def saved(self, take: Take) -> None:
        """Count an episode."""
        super().saved(take)
        self.progress.update(self._bar, saved=f"{self.saved_now}/{self._total} episodes")

    def _print_progress(self) -> None:
        pass


@contextlib.contextmanager
def open_recording_display(console: Console) -> Iterator[RecordingDisplay]:
    """A progress bar on a terminal, plain lines elsewhere."""
    if not console.is_terminal:
        yield RecordingDisplay(console)
        return
    display = LiveRecordingDisplay(console)
    with display.progress:
        yield display


def say_how_to_continue(command: str, flags: Flags, kept: str) -> None:
    """After an interruption: print what is kept, and the command that resumes."""
    print(f"\nyardarm: stopped; {kept}; resume with\n  {shown_command(command, flags)}", file=sys.stderr)


def show_recording(recording: Recording, console: Console) -> int:
    """Print the dataset and how to view it; return the exit code."""
    size = f"{recording.size / 1e6:.1f} MB" if recording.size >= 1e5 else f"{recording.size / 1e3:.0f} kB"
    console.print(
        f"Dataset: {recording.root} ({recording.episodes} episodes, {recording.frames} frames, "
        f"{recording.tasks} task(s), {size})",
        soft_wrap=True,
    )
    view = shlex.join(["yardarm", "dataset", "view", str(recording.root)])
    console.print(f"View it: {view}", soft_wrap=True)
    if recording.skipped:
        print(
            f"yardarm: {recording.skipped} episodes could not be recorded (see the warnings); the same command "
            "retries them",
            file=sys.stderr,
        )
    return 1 if recording.skipped else 0


class EvaluationRecorder:
    """Records an evaluation's episodes after it has finished."""

    def __init__(self, config: EvalConfig, console: Console) -> None:
        self._config = config
        self._console = console
        self._recipe = recording_of(config)

    def record(self, result: RunResult, flags: Flags) -> int:
        """Write the episodes as a dataset with a progress display; return the exit code."""
        try:
            with open_recording_display(self._console) as display:
                recording = record_evaluation(self._config, self._recipe, result, display)
        except YardarmError:
            raise
        except BaseException:
            say_how_to_continue("eval", {**flags, "output_dir": str(result.path)}, display.kept)
            raise
        if recording is None:
            print("yardarm: no episode finished, so none is recorded", file=sys.stderr)
            return 1
        return show_recording(recording, self._console)
