"""Shared by the scripts in this folder: simulated outcomes, and the style of the figures."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from PIL import Image
from scipy.special import ndtri

# Dark, middle and light, so that they can also be distinguished in greyscale.
DARK, WARM, LIGHT, GREY, FAINT = "#0b4f8a", "#d9661f", "#8fc3e8", "#6b6b6b", "#dcdcdc"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:.0f}%")

plt.rcParams.update(
    {
        "font.size": 15,
        "axes.titlesize": 16,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "lines.linewidth": 2.5,
        "lines.solid_capstyle": "butt",
    }
)


def picture(height: float, columns: int = 1, **options: object) -> tuple[Figure, Axes | np.ndarray]:
    """A figure ten inches wide."""
    return plt.subplots(1, columns, figsize=(10, height), layout="constrained", **options)


def save(figure: Figure, name: str) -> None:
    """Write the figure to the folder given on the command line, or to docs/images."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    pixels = io.BytesIO()
    figure.savefig(pixels, dpi=130)
    Image.open(pixels).convert("RGB").quantize(64).save(folder / name, optimize=True)  # a third of the size


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paired_outcomes(
    rng: np.random.Generator, rates: tuple[float, float], correlation: float, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of A and B on the same episodes, with the given correlation."""
    a, b = rates
    both = a * b + correlation * math.sqrt(a * (1 - a) * b * (1 - b))
    draw = rng.random(shape)
    return draw < a, (draw < both) | ((draw >= a) & (draw < a + b - both))


def outcomes_by_difficulty(rng: np.random.Generator, rates: np.ndarray, episodes: int, shared: float) -> np.ndarray:
    """A row of outcomes per policy; `shared` is the part of the variation that episodes have in common for all."""
    hard, own = rng.normal(size=episodes), rng.normal(size=(len(rates), episodes))
    return math.sqrt(shared) * hard + math.sqrt(1 - shared) * own < ndtri(rates)[:, None]
