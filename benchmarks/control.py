"""Measures how well the loop keeps its rate: `yardarm teleoperate` on two twins, with cores free and with all busy.

python benchmarks/control.py --output=benchmarks/2026-11-control.md
python benchmarks/control.py --scale=small --only=teleoperate_30
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from campaign import Measurements, run_campaign
from report import Figure, Section
from servos import busy
from twin_processes import twin_process

from yardarm.control import Loop, undisturbed
from yardarm.machine import usable_cores
from yardarm.robots import HostClock

METHOD = """
Two twins, a leader that a hand moves and a follower, live in processes of their own, with physics in real time. They
stand for hardware, which no load can slow down, so they run with real-time priority if that is allowed here. The
command `yardarm teleoperate` moves one by the other, without a table and without a page; `--timing` writes down how
well it kept its rate. CPU is what the command's process took, with the second or so in which it
starts.

Busy means that as many processes as there are cores spin beside all that.

An empty loop, of which a turn works for about a millisecond, shows what the way of waiting does: the loop's, which
sleeps; one that spins for the last 0.3 ms; and the loop's with real-time priority, if that is allowed here.

A turn is due at a multiple of 1/fps after the first one. The period error is the difference between 1/fps and the time
between two turns; a turn is late if it begins later than a tenth of its period, and missed if its period was over.
"""
YARDARM = [sys.executable, "-m", "yardarm"]
SPIN_S = 0.0003


def teleoperate(fps: int, seconds: float) -> Section:
    """Measure a rate, with cores free and busy."""
    figures, notes = [], []
    rate = [f"--fps={fps}", f"--teleop_time_s={seconds}"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with twin_process("robot", folder) as robot, twin_process("teleop", folder) as leader:
            for spinning in (0, usable_cores()):
                with busy(spinning):
                    timing, cpu_s = _run([*robot.flags, *leader.flags, *rate], folder)
                when = f"{fps} Hz, {f'{spinning} cores busy' if spinning else 'no load of our own'}"
                figures += _figures(when, timing)
                notes.append(f"{when}: {cpu_s / timing['done'] * 1e3:.2f} ms of CPU per turn; {_text(timing)}")
    return Section(f"teleoperate at {fps} Hz", figures, notes)


def _run(words: list[str], folder: Path) -> tuple[dict[str, Any], float]:
    """The command's timing, and the CPU time of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    file = folder / "timing.json"
    subprocess.run([*YARDARM, "teleoperate", *words, f"--timing={file}"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(file.read_text()), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _figures(when: str, timing: dict[str, Any]) -> list[Figure]:
    turns, error = timing["done"] + timing["missed"], timing["period_error"]
    return [
        Figure(f"{when}: turns missed", f"{timing['missed']} of {turns:,}", "", "", True),
        Figure(f"{when}: turns late", f"{timing['late']} of {turns:,}", "", "", True),
        Figure(f"{when}: period error, median", f"{1e3 * error['median']:.2f} ms", "", "", True, "0 ms"),
        Figure(f"{when}: period error, 99th percentile", f"{1e3 * error['p99']:.1f} ms", "", "", True, "0 ms"),
    ]


def _text(timing: dict[str, Any]) -> str:
    parts = ", ".join(
        f"{name} {1e3 * part['median']:.2f} ms (99% {1e3 * part['p99']:.1f})" for name, part in timing["parts"].items()
    )
    return f"worst period error {1e3 * timing['period_error']['worst']:.0f} ms; {parts}."


class SpinningClock(HostClock):
    """What the loop does not use: it sleeps until shortly before, and then looks at the clock all the time."""

    def wait_until(self, seconds: float) -> None:
        super().wait_until(seconds - SPIN_S)
        while time.monotonic() < seconds:
            pass


def waiting(seconds: float) -> Section:
    """Measure an empty loop at 60 Hz that waits in three ways, in turns, with all cores busy."""
    ways = {
        "sleep": (HostClock(), False),
        "spin": (SpinningClock(), False),
        "sleep, with priority": (HostClock(), True),
    }
    loops = {name: Loop(60, clock) for name, (clock, _) in ways.items()}
    with busy(usable_cores()):
        for _ in range(4):
            for name, (_, priority) in ways.items():
                with undisturbed(priority):
                    for _ in loops[name].beats(seconds / 4):
                        sum(range(20_000))  # about a millisecond of work
    figures = []
    for name, loop in loops.items():
        data = loop.timing.to_data()
        figures += _figures(f"empty loop at 60 Hz, {usable_cores()} cores busy, {name}", data)
    return Section("waiting", figures, [f"{name}: {loop.timing.summary()}." for name, loop in loops.items()])


def measurements(seconds: float) -> Measurements:
    return {
        "waiting": partial(waiting, seconds),
        **{f"teleoperate_{fps}": partial(teleoperate, fps, seconds) for fps in (30, 60)},
    }


if __name__ == "__main__":
    run_campaign("The control loop", __doc__, METHOD, measurements(300), measurements(10))
