"""The table of figures, and the dated file that it is kept in."""

from __future__ import annotations

import datetime as dt
import math
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yardarm.envs.rendering import gpu_ids
from yardarm.machine import cpu_model, total_memory_gb, usable_cores
from yardarm.results import versions

HEAD = """| figure | measured | against | arithmetic allows | to reach | reached |
|---|---|---|---|---|---|"""

METHOD = """
Each figure is measured against its baseline in the same run, one part of the baseline before the engine's run and the
rest after it. The engine is called as a user calls it (`yardarm.evaluate` into a new folder), and its wall time is
that of the whole call: starting the launcher and the workers, building simulators, opening OpenGL contexts, writing
the journal and the recorded actions. Lockstep and the bare loop are spared all of this: their clocks start when their
simulators are built (and have rendered once), and they write nothing. The bound of the experts includes building, but
not importing. All processes of baselines get the same environment as the engine's workers (one thread each).

**Lockstep** is Gymnasium's `AsyncVectorEnv` over the same simulators, as many envs as the engine has workers, with
observations in its shared memory and automatic resets off. It renders and returns image and state at every step; envs
that are done are stepped on until the slowest is done; the policy is asked once for the whole batch when its chunk is
used up. Engine and lockstep drive the same stand-in policy, which spins for 20 ms of CPU time at each call, whatever
the batch (a busy loop that holds Python's lock), and plays recorded actions. Rewards are compared bit by bit. With
chunks, lockstep would take hours: it plays the first steps only, and its mean times per step and per inference are
scaled to 500 steps (its resets, with their renderings, are left out). The engine plays all of them.

**Costs** of a step and of a look are CPU time, noted by the simulators themselves in the engine's run that they are
used for, because the speed of a shared machine drifts by tens of percent within seconds. The first look of each
simulator, which opens the context and compiles shaders, counts as an ordinary one. For comparison, bare loops in as
many processes as there are cores cost the same steps and looks before and after. An inference costs 20 ms by
construction.

**What arithmetic allows** is the measured wall time of the baseline, divided by the wall time of an engine that keeps
all cores busy with nothing but its steps, looks and inferences: (steps × cost + looks × cost + inferences × 20 ms) /
cores. This is stricter than the ratio of the costs alone, which is given too, because it does not credit the engine
with what lockstep loses at its barriers. **Efficiency** is the same CPU time divided by (the engine's wall time ×
cores).
"""


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    measured: str
    against: str
    target: str
    reached: bool
    allowed: str = ""

    def row(self) -> str:
        reached = "yes" if self.reached else "**no**"
        return f"| {self.name} | {self.measured} | {self.against} | {self.allowed} | {self.target} | {reached} |"


@dataclass
class Section:
    """The figures of one measurement, and what a reader must know to believe them."""

    title: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join([f"### {self.title}", "", *(f"- {note}" for note in self.notes), ""])


def table(sections: Sequence[Section]) -> str:
    return "\n".join([HEAD, *(figure.row() for section in sections for figure in section.figures)])


def document(sections: Sequence[Section], wall_s: float) -> str:
    """The whole result file."""
    lines = [
        "# Speed and memory of the engine",
        "",
        f"Measured on {dt.date.today().isoformat()} in one run of {math.ceil(wall_s / 60)} minutes:",
        "",
        "```",
        f"python benchmarks/{Path(sys.argv[0]).name} {shlex.join(sys.argv[1:])}".rstrip(),
        "```",
        "",
        *_setting(),
        "",
        "## Figures",
        "",
        table(sections),
        "",
        "## How they were measured",
        "",
        METHOD.strip(),
        "",
        "## Details",
        "",
        *(section.text() for section in sections),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _setting() -> list[str]:
    installed = versions()
    shown = ("yardarm", "python", "numpy", "mujoco", "metaworld", "gymnasium")
    return [
        f"- Machine: {cpu_model()}, {usable_cores()} cores, {total_memory_gb()} GB, {len(gpu_ids()) or 'no'} GPU",
        f"- System: {platform.platform()}",
        "- Versions: " + ", ".join(f"{name} {installed[name]}" for name in shown),
        f"- Commit: {_commit()}",
    ]


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    described = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return described.stdout.strip() or "unknown"
