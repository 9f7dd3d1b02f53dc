"""Plots the simulated throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#c7d9ee", "#8ab4dc", "#3f7fbf", "#123f70")


@dataclass(frozen=True)
class Cell:
    """Episodes per second, those that the workers alone could play, and the part that limits it."""

    rate: float
    possible: float
    limit: str

    @property
    def share(self) -> float:
        return self.rate / self.possible

    def text(self) -> str:
        return f"{rounded(self.rate)} ({self.share:.0%}, {self.limit})"


@dataclass(frozen=True)
class Curve:
    """Cells over the number of workers, for one number of replicas."""

    replicas: int
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Panel:
    """One scenario."""

    name: str
    workers: Sequence[int]
    curves: Sequence[Curve]


def rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 20 else f"{rate:.2g}"


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Draw the panels side by side, with logarithmic axes."""
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharex=True), panels, strict=True):
        _draw_panel(axes, panel)
    figure.axes[0].set_ylabel("episodes per second")
    # Text as text, and nothing that changes from run to run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "scale"}):
        figure.savefig(path, metadata={"Date": None})


def _draw_panel(axes: Axes, panel: Panel) -> None:
    possible = [cell.possible for cell in panel.curves[0].cells]
    axes.loglog(panel.workers, possible, ":", color="0.5", label="workers alone")
    for curve, colour in zip(panel.curves, COLOURS, strict=True):
        rates = [cell.rate for cell in curve.cells]
        axes.loglog(panel.workers, rates, color=colour, marker=".", label=f"replicas: {curve.replicas}")
    axes.set_title(panel.name.replace(", ", ",\n", 1), fontsize=9)
    axes.set_xlabel("workers")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, frameon=False)
