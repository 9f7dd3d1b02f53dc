"""The table of figures, and the file that it is written to."""

from __future__ import annotations

import datetime as dt
import math
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from yardarm.envs.rendering import gpu_ids
from yardarm.machine import cpu_model, total_memory_gb, usable_cores, versions

HEAD = """| figure | measured | against | arithmetic allows | to reach | reached |
|---|---|---|---|---|---|"""


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
        reached = "" if not self.target else "yes" if self.reached else "**no**"
        return f"| {self.name} | {self.measured} | {self.against} | {self.allowed} | {self.target} | {reached} |"


@dataclass
class Section:
    """The figures of one measurement, and notes on how to read them."""

    title: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    table: str = ""
    """What does not fit into figures, as Markdown."""

    def text(self) -> str:
        own = [self.table, ""] if self.table else []
        return "\n".join([f"### {self.title}", "", *own, *(f"- {note}" for note in self.notes), ""])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Section:
        return cls(**{**data, "figures": [Figure(**figure) for figure in data["figures"]]})


def table(sections: Sequence[Section]) -> str:
    return "\n".join([HEAD, *(figure.row() for section in sections for figure in section.figures)])


def document(title: str, method: str, sections: Sequence[Section], wall_s: float, is_whole: bool = True) -> str:
    """The whole result file; one that is not whole has sections of earlier runs."""
    how = f"in one run of {math.ceil(wall_s / 60)} minutes" if is_whole else "in parts, by this command"
    lines = [
        f"# {title}",
        "",
        f"Measured on {dt.date.today().isoformat()} {how}:",
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
        method.strip(),
        "",
        "## Details",
        "",
        *(section.text() for section in sections),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _setting() -> list[str]:
    installed = versions()
    shown = ("yardarm", "python", "numpy", "mujoco", "metaworld", "gymnasium", "torch")
    return [
        f"- Machine: {cpu_model()}, {usable_cores()} cores, {total_memory_gb()} GB, {len(gpu_ids()) or 'no'} GPU",
        f"- System: {platform.platform()}",
        "- Versions: " + ", ".join(f"{name} {installed[name]}" for name in shown),
        f"- Commit: {commit()}",
    ]


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    described = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return described.stdout.strip() or "unknown"
