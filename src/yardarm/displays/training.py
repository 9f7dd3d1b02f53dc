"""Shows a training while it runs: a bar with loss and speed on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID

from yardarm.displays.bars import progress_bar
from yardarm.training import TrainingListener

__all__ = ["TrainingDisplay", "open_training_display", "stop_after_step"]


# Ctrl-C, a cluster's scheduler, a closed terminal.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TrainingDisplay(TrainingListener):
    """Prints the events of a training."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.path: Path | None = None
        self.on_start: Callable[[Path], None] | None = None
        """Called with the training's folder once it exists."""
        self.stopping: int | None = None
        """The signal that asked the training to stop."""

    def shall_stop(self) -> bool:
        """Whether a signal asked the training to stop."""
        return self.stopping is not None

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """Print what is going to be trained."""
        self.path = path
        begun = f"resuming after step {step:,} of {steps:,}" if step else f"{steps:,} steps"
        self.console.print(f"{summary}; {begun}; {path}", soft_wrap=True)
        if self.on_start is not None:
            self.on_start(path)

    def noticed(self, lines: Sequence[str]) -> None:
        """Print what was noticed about the dataset."""
        for line in lines:
            self.say(line)

    def say(self, line: str) -> None:
        """Print a line; a closed pipe, as in `yardarm train | head`, does not end the training."""
        try:
            self.console.print(line, soft_wrap=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def point(self, point: Mapping[str, Any]) -> None:
        """Print a new point of the learning curve."""
        if line := _text(point):
            self.say(line)

    def waiting(self, evaluations: int) -> None:
        """Print how many evaluations the training waits for."""
        self.say(f"waiting for {evaluations} evaluation(s)")


class BarDisplay(TrainingDisplay):
    """A progress bar, with the newest loss next to it."""

    def __init__(self, console: Console, progress: Progress) -> None:
        super().__init__(console)
        self._task: TaskID | None = None
        self.progress = progress

    def preparing(self, what: str) -> None:
        """Show what takes time before the first step."""
        self._remove_bar()
        self._task = self.progress.add_task(what, total=None, state="")

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """Start the bar."""
        self._remove_bar()
        super().started(path, step, steps, summary)
        self._task = self.progress.add_task("steps", total=steps, completed=step, state="")

    def stepped(self, step: int) -> None:
        """Move the bar."""
        assert self._task is not None
        self.progress.update(self._task, completed=step)

    def point(self, point: Mapping[str, Any]) -> None:
        """Show losses in the bar, and print everything else as a line."""
        if point["kind"] == "train" and self._task is not None:
            self.progress.update(self._task, state=_rates(point))
        else:
            super().point(point)

    def _remove_bar(self) -> None:
        if self._task is not None:
            self.progress.remove_task(self._task)
            self._task = None


@contextlib.contextmanager
def open_training_display(console: Console) -> Iterator[TrainingDisplay]:
    """A progress bar on a terminal or in a notebook, plain lines elsewhere."""
    progress = progress_bar(console, "state")
    if progress is None:
        yield TrainingDisplay(console)
        return
    with progress:
        yield BarDisplay(console, progress)


@contextlib.contextmanager
def stop_after_step(display: TrainingDisplay) -> Iterator[None]:
    """Let a signal stop the training after its current step; a second signal stops it immediately."""
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread alone
        yield
        return

    def ask(signum: int, frame: FrameType | None) -> None:
        own = before[signal.Signals(signum)]
        if display.path is None or display.stopping is not None:  # not started yet, or the second signal
            if callable(own):
                own(signum, frame)
            raise KeyboardInterrupt
        display.stopping = signum
        print("yardarm: stopping after this step; press Ctrl-C again to stop immediately", file=sys.stderr)

    before = {own: signal.signal(own, ask) for own in SIGNALS}
    try:
        yield
    finally:
        for own, handler in before.items():
            signal.signal(own, handler)


def _text(point: Mapping[str, Any]) -> str:
    step = f"step {point['step']:,}"
    match point["kind"]:
        case "train":
            return f"{step}: {_rates(point)}"
        case "validation":
            return f"{step}: held-out loss {point['loss']:.4g} ({point['samples']:,} samples)"
        case "checkpoint":
            return f"{step}: saved {point['path']}"
        case "evaluation" if point["status"] == "finished":
            rate, low, high = (100 * (point[name] or 0) for name in ("rate", "low", "high"))
            return f"{step}: {point['successes']}/{point['episodes']} solved, {rate:.0f}% [{low:.0f}, {high:.0f}]"
        case "evaluation" if point["status"] == "failed":
            return f"{step}: the evaluation failed: {point['problem']}"
    return ""


def _rates(point: Mapping[str, Any]) -> str:
    """The loss, the speed, and the share of time spent waiting for data."""
    share = 100 * point["data_s"] / max(1e-9, point["data_s"] + point["update_s"])
    return (
        f"loss {point['loss']:.4g}, {point['samples_per_s']:,.0f} samples/s, {share:.0f}% of the time waiting for data"
    )
