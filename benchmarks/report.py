"""The table of figures, and the dated file that it is kept in."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from yardarm.results import provenance

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


def document(sections: Sequence[Section], method: str, wall_s: float) -> str:
    """The whole result file."""
    made = provenance()
    machine, versions = made["machine"], made["versions"]
    names = ("yardarm", "python", "numpy", "mujoco", "metaworld", "gymnasium")
    lines = [
        "# Speed and memory of the engine",
        "",
        f"Measured on {dt.date.today().isoformat()} in one run of {math.ceil(wall_s / 60)} minutes:",
        "",
        "```",
        "python benchmarks/" + " ".join(made["command"]),
        "```",
        "",
        f"- Machine: {machine['cpu']}, {machine['usable_cores']} cores, {machine['memory_gb']} GB, no GPU; "
        f"{machine['platform']}",
        "- Versions: " + ", ".join(f"{name} {versions[name]}" for name in names),
        f"- Commit: {made['git_commit']}",
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
