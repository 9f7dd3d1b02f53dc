"""Measures recording on a robot: how well the loop keeps its rate, what is lost, and what it costs.

python benchmarks/recording.py --output=benchmarks/2026-11-recording.md
LEROBOT_PYTHON=… python benchmarks/recording.py      (an interpreter with LeRobot, to compare with it)
python benchmarks/recording.py --scale=small --only=30_av1_free,60_h264_busy
python benchmarks/recording.py --only=memory --minutes=30
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from campaign import Measurements, run_campaign
from image_server import file_cameras, published_cameras
from recording_run import Outcome, Recorder, Setting, record
from report import Figure, Section
from twin_processes import TwinProcess, twin_process
from usage import TreeUsage

from yardarm.machine import usable_cores

METHOD = """
Two twins of an SO-101, a leader that a hand moves and a follower, and two cameras of 640×480 live in processes of their
own. They stand for hardware, which no load can slow down, so they run with real-time priority if that is allowed here.
One episode is recorded at a time, with the same flags on both sides: codec, preset (12 for AV1, veryfast for H.264),
quality and key frames are equal.

LeRobot cannot read `file` cameras, and refuses MJPEG over HTTP (OpenCV cannot set the size of a stream). So both sides
record the same cameras of the type `zmq`; ours also records `file` cameras with the same pictures. LeRobot is measured
as it is by default, when it stores PNGs and encodes them after the episode, and with
`--dataset.streaming_encoding=true`.

The loop is measured from outside, in the same way for both: the follower's twin notes when goals arrive. A turn is a
goal, and a period is the time between two. The period error is its difference from 1/fps; a turn is late if its period
was more than a tenth too long; missed is what lacks of seconds × fps turns. A turn in which the arm is held still,
because a camera's picture is too old, sends no goal, so it counts as missed.

Rows are those of the dataset's table. Every frame of its videos is decoded; lost is what lacks of one per row and
camera. CPU is what the command's processes took from the first goal until the dataset was finished, per second of
recording, or per row. Memory is their peak (RSS: pages that processes share count for each). "Saved" is how long after
the last goal the command ended.

Busy means that as many processes as there are cores spin beside all that, from the first goal to the last one.
"""
CODECS = {"av1": ("libsvtav1", "12"), "h264": ("h264", "veryfast")}
RATES = (30, 60)
LOADS = ("free", "busy")
OURS, OURS_WITH_FILES = "Yardarm, zmq cameras", "Yardarm, file cameras"
COLUMNS = (
    "| recorder | turns | late | missed | period error 99% | worst | rows | frames lost | CPU s/s | peak | saved |"
)
YARDARM = [sys.executable, "-m", "yardarm", "record"]
LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON", "")
NOT_COMPARED = "LEROBOT_PYTHON was not given, so LeRobot was not measured."
FAILED = "failed"
MEMORY = "memory"
EPISODE_S = 60.0
FLAT_MB_PER_HOUR = 20.0


@contextlib.contextmanager
def two_arms() -> Iterator[tuple[Path, list[TwinProcess]]]:
    """A folder for everything, and the follower and the leader."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with twin_process("robot", folder) as robot, twin_process("teleop", folder) as leader:
            yield folder, [robot, leader]


@contextlib.contextmanager
def recorders(folder: Path, fps: int) -> Iterator[list[Recorder]]:
    """Everybody who is compared, and their cameras."""
    with published_cameras(fps) as published:
        compared = [
            Recorder(OURS, YARDARM, published),
            Recorder(OURS_WITH_FILES, YARDARM, file_cameras(folder, fps)),
        ]
        if LEROBOT_PYTHON:
            name, command = f"LeRobot {_lerobot_version()}", [str(Path(LEROBOT_PYTHON).parent / "lerobot-record")]
            compared += [
                Recorder(name, command, published),
                Recorder(f"{name}, streaming", [*command, "--dataset.streaming_encoding=true"], published),
            ]
        yield compared


def _lerobot_version() -> str:
    ask = "from importlib.metadata import version; print(version('lerobot'))"
    return subprocess.run([LEROBOT_PYTHON, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def compare(fps: int, codec: str, load: str, seconds: float) -> Section:
    """Record the same with everybody, one after the other."""
    spinning = usable_cores() if load == "busy" else 0
    setting = Setting(fps, *CODECS[codec], episode_s=seconds, spinning=spinning)
    with two_arms() as (folder, arms), recorders(folder, fps) as compared:
        outcomes = [record(recorder, setting, arms, folder) for recorder in compared]
    when = f"{fps} Hz, {codec}, {f'{spinning} cores busy' if spinning else 'no load of our own'}"
    notes = _failures(outcomes) if LEROBOT_PYTHON else [*_failures(outcomes), NOT_COMPARED]
    return Section(when, _figures(when, outcomes), notes, _table(outcomes))


def _figures(when: str, outcomes: Sequence[Outcome]) -> list[Figure]:
    """Ours against LeRobot's, with the same cameras; nothing may be lost with either kind of cameras."""
    ours = [own for own in outcomes if own.recorder in (OURS, OURS_WITH_FILES)]
    others = [own for own in outcomes if own not in ours]
    lost = Figure(
        f"{when}: frames lost",
        ", ".join(map(_lost, ours)),
        "; ".join(f"{own.recorder}: {_lost(own) if own.rows else FAILED}" for own in others),
        "0",
        all(own.rows and not own.lost for own in ours),
    )
    compared: dict[str, tuple[Callable[[Outcome], float], Callable[[Outcome], str]]] = {
        # Those two in one: a loop that misses most of its turns has few that can be late.
        "turns late or missed": (lambda own: own.pace.late + own.pace.missed, _late_or_missed),
        "period error, 99th percentile": (lambda own: own.pace.error_p99_s, _p99),
        # Not per second: whoever records half of the rows needs half of the time.
        "CPU per row": (_cpu_per_row, lambda own: f"{1e3 * _cpu_per_row(own):.0f} ms"),
    }
    return [lost, *(_against(f"{when}: {name}", ours[0], others, *how) for name, how in compared.items())]


def _against(
    name: str,
    ours: Outcome,
    others: Sequence[Outcome],
    value: Callable[[Outcome], float],
    text: Callable[[Outcome], str],
) -> Figure:
    against = "; ".join(f"{own.recorder}: {text(own) if own.has_moved else FAILED}" for own in others)
    whole = [value(own) for own in others if not own.fault]
    target = f"≤ {others[0].recorder}'s" if whole else ""
    return Figure(name, text(ours), against, target, bool(whole) and value(ours) <= min(whole))


def _lost(outcome: Outcome) -> str:
    return f"{outcome.lost} of {outcome.pictures:,}"


def _p99(outcome: Outcome) -> str:
    return f"{1e3 * outcome.pace.error_p99_s:.1f} ms"


def _cpu_per_row(outcome: Outcome) -> float:
    return outcome.cpu_s / max(1, outcome.rows)


def _late_or_missed(outcome: Outcome) -> str:
    pace = outcome.pace
    return f"{pace.late + pace.missed} of {pace.turns + pace.missed}"


def _table(outcomes: Sequence[Outcome]) -> str:
    return "\n".join([COLUMNS, "|---" * (COLUMNS.count("|") - 1) + "|", *map(_row, outcomes)])


def _row(own: Outcome) -> str:
    if not own.has_moved:
        return f"| {own.recorder} | {FAILED} |" + " |" * (COLUMNS.count("|") - 3)
    return (
        f"| {own.recorder} | {own.pace.turns} | {own.pace.late} | {own.pace.missed} | {_p99(own)} "
        f"| {1e3 * own.pace.error_worst_s:.0f} ms | {own.rows} | {own.lost} | {own.cpu_s / own.seconds:.2f} "
        f"| {own.peak_mb:,.0f} MB | {own.saved_after_s:.1f} s |"
    )


def _failures(outcomes: Sequence[Outcome]) -> list[str]:
    vain = [f"{own.recorder} did not start: `{fault}`. Started again." for own in outcomes for fault in own.vain_starts]
    failed = [f"{own.recorder} failed: `{own.fault}`" for own in outcomes if own.fault]
    return [*vain, *failed]


def memory(minutes: float) -> Section:
    """Record episodes of a minute, and watch whether memory grows."""
    episode_s = min(EPISODE_S, 60 * minutes / 3)
    setting = Setting(30, *CODECS["av1"], episode_s=episode_s, episodes=round(60 * minutes / episode_s))
    with two_arms() as (folder, arms):
        outcome = record(Recorder(OURS_WITH_FILES, YARDARM, file_cameras(folder, setting.fps)), setting, arms, folder)
    if outcome.fault:
        sys.exit(f"the recording failed: {outcome.fault}")
    slope, course = _growth(outcome.usage, outcome.goals)
    what = f"{minutes:g} minutes of recording (30 Hz, av1, file cameras, episodes of {episode_s:g} s)"
    figures = [
        Figure(
            f"{what}: growth of memory after the first sixth",
            f"{slope:+.0f} MB an hour",
            "",
            f"≤ {FLAT_MB_PER_HOUR:g}",
            slope <= FLAT_MB_PER_HOUR,
            "0",
        ),
        Figure(f"{what}: peak memory", f"{outcome.peak_mb:.0f} MB", "", "", True),
        Figure(f"{what}: frames lost", _lost(outcome), "", "0", not outcome.lost),
    ]
    notes = [f"Memory in twelve parts of that time: {', '.join(f'{part:.0f}' for part in course)} MB."]
    return Section(MEMORY, figures, [*notes, *_failures([outcome])], _table([outcome]))


def _growth(usage: TreeUsage, goals: Sequence[float]) -> tuple[float, list[float]]:
    """How memory grew while the arm was moved, in MB an hour, without the first sixth; and the medians of twelfths."""
    samples = np.array([(own.time_s, own.rss / 1e6) for own in usage.samples if goals[0] <= own.time_s <= goals[-1]])
    twelfths = np.array_split(samples, 12)
    seconds, megabytes = np.concatenate(twelfths[2:]).T
    slope = np.polyfit(seconds - seconds[0], megabytes, 1)[0] * 3600
    return float(slope), [float(np.median(part[:, 1])) for part in twelfths]


def measurements(seconds: float, minutes: float) -> Measurements:
    comparisons = itertools.product(RATES, CODECS, LOADS)
    return {
        **{"_".join(map(str, each)): partial(compare, *each, seconds) for each in comparisons},
        MEMORY: partial(memory, minutes),
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--minutes", type=float, default=30.0, help=f"how long {MEMORY} records; default: %(default)s")
    minutes = options.parse_known_args()[0].minutes
    full, small = measurements(10, minutes), measurements(5, minutes)
    run_campaign("Recording on a robot", __doc__, METHOD, full, small, on_request={MEMORY}, options=options)
