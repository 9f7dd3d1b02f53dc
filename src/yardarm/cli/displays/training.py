"""Shows a training while it goes on: a bar with loss and rates on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from yardarm.training import TrainingListener

__all__ = ["TrainingDisplay", "open_training_display", "stopping_politely"]


# Ctrl-C, a cluster's scheduler, a terminal that was closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TrainingDisplay(TrainingListener):
    """Says what a training tells."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.path: Path | None = None
        self.on_start: Callable[[Path], None] | None = None
        """Called with the training's folder when there is one."""
        self.stopping: int | None = None
        """The signal that asked to stop."""

    def shall_stop(self) -> bool:
        """Whether somebody asked for it."""
        return self.stopping is not None

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """Say what is going to be trained."""
        self.path = path
        begun = f"goes on after step {step:,} of {steps:,}" if step else f"{steps:,} steps"
        self.console.print(f"{summary}; {begun}; {path}", soft_wrap=True)
        if self.on_start is not None:
            self.on_start(path)

    def say(self, line: str) -> None:
        """Print a line; a reader that has gone, as in `yardarm train | head`, does not end the training."""
        try:
            self.console.print(line, soft_wrap=True)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def point(self, point: Mapping[str, Any]) -> None:
        """Say what is new."""
        if line := _said(point):
            self.say(line)

    def waiting(self, evaluations: int) -> None:
        """Say what is waited for."""
        self.say(f"waiting for {evaluations} evaluation(s)")


class BarDisplay(TrainingDisplay):
    """A progress bar on a terminal; points of the loss stand beside it."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._task: TaskID | None = None
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )

    def preparing(self, what: str) -> None:
        """Say what takes a moment."""
        self._forget()
        self._task = self.progress.add_task(what, total=None, state="")

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """Begin the bar."""
        self._forget()
        super().started(path, step, steps, summary)
        self._task = self.progress.add_task("steps", total=steps, completed=step, state="")

    def stepped(self, step: int) -> None:
        """Move the bar."""
        assert self._task is not None
        self.progress.update(self._task, completed=step)

    def point(self, point: Mapping[str, Any]) -> None:
        """Losses stand in the bar; what is rarer has a line."""
        if point["kind"] == "train" and self._task is not None:
            self.progress.update(self._task, state=_rates(point))
        else:
            super().point(point)

    def _forget(self) -> None:
        if self._task is not None:
            self.progress.remove_task(self._task)
            self._task = None


@contextlib.contextmanager
def open_training_display(console: Console) -> Iterator[TrainingDisplay]:
    """A display that fits where the output goes."""
    if not console.is_terminal:
        yield TrainingDisplay(console)
        return
    display = BarDisplay(console)
    with display.progress:
        yield display


@contextlib.contextmanager
def stopping_politely(display: TrainingDisplay) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM end the training after its step; the second one ends it at once."""

    def ask(signum: int, frame: FrameType | None) -> None:
        own = before[signal.Signals(signum)]
        if display.path is None or display.stopping is not None:  # nothing has begun yet, or somebody is in a hurry
            if callable(own):
                own(signum, frame)
            raise KeyboardInterrupt
        display.stopping = signum
        print("yardarm: stopping after this step; once more: at once", file=sys.stderr)

    before = {own: signal.signal(own, ask) for own in SIGNALS}
    try:
        yield
    finally:
        for own, handler in before.items():
            signal.signal(own, handler)


def _said(point: Mapping[str, Any]) -> str:
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
    """The loss, the speed, and where the time goes."""
    share = 100 * point["data_s"] / max(1e-9, point["data_s"] + point["update_s"])
    return (
        f"loss {point['loss']:.4g}, {point['samples_per_s']:,.0f} samples/s, {share:.0f}% of the time waiting for data"
    )
