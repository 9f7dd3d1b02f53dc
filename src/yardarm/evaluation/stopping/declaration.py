"""What is declared about early stopping before the first episode."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["DECIDED", "PRECISION", "RULES", "Declaration"]

DECIDED, PRECISION = "decided", "precision"
RULES = (DECIDED, PRECISION)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared before the first episode, and cannot be changed afterwards."""

    rule: str
    n_episodes: int
    """For each task, at most."""
    confidence: float
    half_width: float | None = None
    against: str | None = None
    """What the opponent is called, and its results filed under."""
    outcomes: str | None = None
    """A hash of the opponent's outcomes, if it has played already."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, of what applies."""
        return {name: value for name, value in asdict(self).items() if value is not None}
