"""Shows an evaluation while it runs: progress bars on a terminal or in a notebook, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from yardarm.displays.bars import progress_bar
from yardarm.errors import PolicyFault
from yardarm.evaluation import EvaluationListener, Plan
from yardarm.replay import Replay, ReplayResult
from yardarm.report import judged_text
from yardarm.results import EpisodeRecord, StoppingRecord

__all__ = ["Display", "divergence_warning", "open_display"]

PLAIN_LINE_EVERY_S = 10.0
# With more policies than this, a line shows only their total.
MOST_NAMED = 3


class Display(EvaluationListener):
    """Counts episodes as they finish, and shows the count."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.path: Path | None = None
        self.on_start: Callable[[Path], None] | None = None
        """Called with the run's folder once it exists."""
        self.brief = False
        """Whether to leave out what only helps to tune a machine."""
        self._judged = ""
        self._successes: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._errors = self._done = self._planned = 0

    def resumed_after_crash(self, path: Path, finished: int) -> None:
        """Warn that the previous session was killed or crashed."""
        print(
            f"yardarm: warning: the last session of {path} was killed or crashed; all {finished} finished episodes are "
            "kept",
            file=sys.stderr,
        )

    def resumed(self, finished: Sequence[EpisodeRecord]) -> None:
        """Count what earlier sessions have finished."""
        self._done, self._errors = len(finished), 0
        self._ended = Counter(record.key.policy for record in finished)
        self._successes = Counter(record.key.policy for record in finished if record.success)

    def started(self, path: Path, plans: Sequence[Plan], missing: int, workers: int) -> None:
        """Print what is going to run."""
        self.path = path
        first, episodes = plans[0], [episode for plan in plans for episode in plan.episodes()]
        tasks = len({episode.task.key() for episode in episodes})
        planned = self._planned = len(episodes)
        several = len(plans) > MOST_NAMED
        players = f"{len(plans)} policies" if several else " against ".join(plan.policy_id for plan in plans)
        most = "at most " if first.stopping else ""
        if missing or not first.stopping:
            known = f", {planned - missing} of them already finished" if missing < planned else ""
            known += f"; {workers} worker(s)"
        else:
            known = "; none left to play"
        part = f"shard {first.shard} of " if first.shard else ""
        self.console.print(
            f"{part}{players} on {tasks} task(s): {most}{planned} episodes{known}; {path}", soft_wrap=True
        )
        self._begin()
        if self.on_start is not None:
            self.on_start(path)

    def tuned(self, text: str) -> None:
        """Print what was tuned for this machine, and why."""
        if not self.brief:
            self.console.print(text, soft_wrap=True)

    def finished(self, record: EpisodeRecord) -> None:
        """Count an episode."""
        self._done += 1
        self._successes[record.key.policy] += record.success
        self._ended[record.key.policy] += record.status != "error"
        self._errors += record.status == "error"
        self._advance()

    def computing(self, policy: str, seconds: float, limit_s: float) -> None:
        """Warn that a policy has not answered for a while."""
        print(
            f"yardarm: warning: the policy {policy} has not answered for {seconds:.0f} s; the run gives up after "
            f"{limit_s:g} s (--eval.timeout_s)",
            file=sys.stderr,
        )

    def withdrawn(self, policy: str, fault: PolicyFault) -> None:
        """Warn that one of several policies failed, and where in its code."""
        if fault.trace:
            print(fault.trace.rstrip(), file=sys.stderr)
        print(f"yardarm: warning: continuing without {policy}: {str(fault).strip().splitlines()[-1]}", file=sys.stderr)

    def judged(self, state: StoppingRecord) -> None:
        """Keep the current verdict of a run that may stop early."""
        self._judged = judged_text(state)

    def drawing(self, pictures: int) -> None:
        """Announce that pictures for the report are being drawn."""
        noun = "picture" if pictures == 1 else "pictures"
        self.console.print(f"drawing {pictures} {noun} for the report; Ctrl-C skips that", soft_wrap=True)

    def not_drawn(self, reason: str) -> None:
        """Print why the report has no pictures, or fewer."""
        print(f"yardarm: no pictures for the report: {reason}; --eval.pictures=0 omits them", file=sys.stderr)

    def filming(self, replays: Sequence[Replay]) -> None:
        """Announce that videos are being rendered."""
        self._film_begin(len(replays), sum(replay.frames for replay in replays))

    def filmed(self, result: ReplayResult) -> None:
        """Print where a video is, and warn if it differs from the recording."""
        if result.error:
            print(
                f"yardarm: warning: the video {result.replay.path} could not be made: {result.error}", file=sys.stderr
            )
            return
        self.console.print(f"Video: {result.replay.path}", soft_wrap=True)
        if result.diverged_at is not None:
            print(divergence_warning(result), file=sys.stderr)

    @property
    def kept(self) -> str:
        """What an interruption does not lose."""
        return f"{self._done} of {self._planned} episodes are finished and kept"

    def _score(self) -> str:
        if self._judged:
            return self._judged + (f", {self._errors} errors" if self._errors else "")
        scores = [f"{self._successes[policy]}/{ended} solved" for policy, ended in self._ended.items()]
        if len(scores) > MOST_NAMED:
            scores = [f"{self._successes.total()}/{self._ended.total()} solved by {len(scores)} policies"]
        elif len(scores) > 1:
            scores = [f"{policy} {score}" for policy, score in zip(self._ended, scores, strict=True)]
        score = ", ".join(scores) or "0/0 solved"
        return score + (f", {self._errors} errors" if self._errors else "")

    def _begin(self) -> None:
        raise NotImplementedError

    def _advance(self) -> None:
        raise NotImplementedError

    def _film_begin(self, videos: int, frames: int) -> None:
        raise NotImplementedError


class LiveDisplay(Display):
    """Progress bars."""

    waits_for_pictures = True

    def __init__(self, console: Console, progress: Progress) -> None:
        super().__init__(console)
        self._preparing: TaskID | None = None
        self._episodes: TaskID | None = None
        self.progress = progress

    def preparing(self, what: str) -> None:
        """Show what takes time before the first episode starts."""
        self._end_preparing()
        self._preparing = self.progress.add_task(what, total=None, score="")

    def _end_preparing(self) -> None:
        if self._preparing is not None:
            self.progress.remove_task(self._preparing)
            self._preparing = None

    def filmed_frame(self) -> None:
        """Advance the video bar."""
        self.progress.advance(self._frames)

    def _begin(self) -> None:
        self._end_preparing()
        if self._episodes is not None:  # more are played after the first ones, as in a recording of successes
            self.progress.remove_task(self._episodes)
        self._episodes = self.progress.add_task("episodes", total=self._planned, completed=self._done, score="")

    def _advance(self) -> None:
        assert self._episodes is not None
        self.progress.update(self._episodes, completed=self._done, score=self._score())

    def _film_begin(self, videos: int, frames: int) -> None:
        self._frames = self.progress.add_task("video frames", total=frames, score=f"{videos} video(s)")


class PlainDisplay(Display):
    """A line every few seconds, for log files."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._last_line = time.monotonic()

    def _begin(self) -> None:
        pass

    def _advance(self) -> None:
        now = time.monotonic()
        if self._done == self._planned or now - self._last_line > PLAIN_LINE_EVERY_S:
            self._last_line = now
            self.console.print(f"{self._done}/{self._planned} episodes, {self._score()}")

    def _film_begin(self, videos: int, frames: int) -> None:
        self.console.print(f"rendering {videos} video(s), {frames} frames")


@contextlib.contextmanager
def open_display(console: Console) -> Iterator[Display]:
    """Progress bars on a terminal or in a notebook, plain lines elsewhere."""
    progress = progress_bar(console, "score")
    if progress is None:
        yield PlainDisplay(console)
        return
    with progress:
        yield LiveDisplay(console, progress)


def divergence_warning(result: ReplayResult) -> str:
    """The warning that a video does not show the recorded episode."""
    return (
        f"yardarm: warning: the replay of {result.replay.episode.task.name} episode {result.replay.episode.index} "
        f"diverges from the recording (fingerprint after step {result.diverged_at}); the video shows what the "
        "installed simulator does with the recorded actions"
    )
