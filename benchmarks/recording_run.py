"""One recording by one command, watched from outside: by the arm that it moves, its processes, and what it leaves."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
from servos import busy
from twin_processes import TwinProcess
from usage import TreeUsage

from yardarm.datasets import read_metadata

LATE = 0.1
SILENT_S = 0.5
LOOK_EVERY_S = 0.2
PATIENCE_S = 300.0
# A program that cannot connect to its arms, because the machine is busy, is started again.
STARTS = 3


@dataclass(frozen=True)
class Setting:
    """What is recorded, and beside what."""

    fps: int
    vcodec: str
    preset: str
    episode_s: float
    episodes: int = 1
    spinning: int = 0
    """How many processes keep a core busy meanwhile."""

    @property
    def seconds(self) -> float:
        return self.episodes * self.episode_s

    @property
    def flags(self) -> list[str]:
        """LeRobot's, which Yardarm understands, too."""
        dataset = {
            "repo_id": "me/measured",
            "single_task": "wave",
            "fps": self.fps,
            "num_episodes": self.episodes,
            "episode_time_s": self.episode_s,
            "reset_time_s": 0,
            "push_to_hub": "false",
            "rgb_encoder.vcodec": self.vcodec,
            "rgb_encoder.preset": self.preset,
        }
        return [*(f"--dataset.{name}={value}" for name, value in dataset.items()), "--play_sounds=false"]


@dataclass(frozen=True)
class Recorder:
    """A command that records, and the cameras that it is given."""

    name: str
    command: Sequence[str]
    cameras: Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Pace:
    """How well goals kept their rate."""

    turns: int
    late: int
    missed: int
    error_p99_s: float
    error_worst_s: float


def pace_of(goals: Sequence[float], fps: float, seconds: float) -> Pace:
    """Goals by the times of their arrival; `seconds` is how long they were to come."""
    periods = np.diff(goals)
    errors = np.abs(periods - 1 / fps) if len(periods) else np.full(1, np.nan)
    return Pace(
        len(goals),
        int(np.sum(periods > (1 + LATE) / fps)),
        max(0, round(seconds * fps) - len(goals)),
        float(np.quantile(errors, 0.99)),
        float(np.max(errors)),
    )


@dataclass(frozen=True)
class Outcome:
    """What came of a recording."""

    recorder: str
    pace: Pace
    rows: int
    pictures: int
    """Frames that the dataset's videos ought to have: one per row and camera."""
    lost: int
    cpu_s: float
    """From the first goal until the command ended."""
    seconds: float
    """From the first goal to the last."""
    peak_mb: float
    saved_after_s: float
    usage: TreeUsage
    goals: list[float]
    fault: str = ""
    """What the command said last, if it failed."""
    vain_starts: tuple[str, ...] = ()
    """What it said last when it was started before, and ended without having moved the arm."""

    @property
    def has_moved(self) -> bool:
        """Whether there is a period to measure."""
        return self.pace.turns > 1


def record(recorder: Recorder, setting: Setting, arms: Sequence[TwinProcess], folder: Path) -> Outcome:
    """Let it record with these arms, the follower first; the dataset is gone afterwards."""
    root, vain = folder / "recorded", list[str]()
    while True:
        outcome = _record(recorder, setting, arms, root)
        shutil.rmtree(root, ignore_errors=True)
        if outcome.has_moved or len(vain) + 1 == STARTS:
            return replace(outcome, vain_starts=tuple(vain))
        vain.append(outcome.fault)


def _record(recorder: Recorder, setting: Setting, arms: Sequence[TwinProcess], root: Path) -> Outcome:
    follower = arms[0]
    follower.forget_goals()
    words = [*recorder.command, *(flag for arm in arms for flag in arm.flags), *setting.flags]
    words += [f"--robot.cameras={json.dumps(recorder.cameras)}", f"--dataset.root={root}"]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(root.parent), "HF_LEROBOT_HOME": str(root.parent)}
    said = root.with_suffix(".log")
    with said.open("w") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        with _ended(process), TreeUsage(process.pid) as usage:
            if _await_first_goal(process, follower):
                with busy(setting.spinning):
                    _await_last_goal(process, follower, setting.seconds)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
    ended, goals = time.monotonic(), follower.goals()
    rows, lost = _content(root, len(recorder.cameras))
    return Outcome(
        recorder.name,
        pace_of(goals, setting.fps, setting.seconds),
        rows,
        rows * len(recorder.cameras),
        lost,
        usage.cpu_since(goals[0]) if goals else 0.0,
        goals[-1] - goals[0] if goals else 0.0,
        usage.peak_rss / 1e6,
        ended - goals[-1] if goals else float("nan"),
        usage,
        goals,
        _last_words(said) if process.returncode or not rows else "",
    )


def _await_first_goal(process: subprocess.Popen[bytes], follower: TwinProcess) -> bool:
    """Return when a goal has come; False if the command ended before, or took too long."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        if follower.latest_goal() is not None:
            return True
        time.sleep(LOOK_EVERY_S)
    return False


def _await_last_goal(process: subprocess.Popen[bytes], follower: TwinProcess, seconds: float) -> None:
    """Return when goals have come for so long, and come no more; or when the command has ended."""
    first = time.monotonic()
    while process.poll() is None:
        time.sleep(LOOK_EVERY_S)
        now, silent_s = time.monotonic(), time.monotonic() - (follower.latest_goal() or 0.0)
        if (now - first >= seconds and silent_s > SILENT_S) or silent_s > PATIENCE_S:
            return


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave no process behind: one that has not ended by itself is killed."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _content(root: Path, cameras: int) -> tuple[int, int]:
    """The rows of a dataset, and how many frames its videos lack."""
    try:
        rows = read_metadata(root).total_frames
    except Exception:  # whatever is wrong with what a failed command leaves: it is no dataset
        return 0, 0
    return rows, rows * cameras - sum(map(_decoded_frames, root.glob("videos/**/*.mp4")))


def _decoded_frames(video: Path) -> int:
    with av.open(str(video)) as container:
        container.streams.video[0].thread_type = "AUTO"
        return sum(1 for _ in container.decode(video=0))


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line)]
    return (errors or lines or ["nothing"])[-1][:200]
