"""What a learned policy remembers of an episode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["EpisodeState"]


@dataclass(slots=True)
class EpisodeState:
    """What belongs to one episode; architectures with a history, a queue or noise add theirs."""

    conditioning: dict[str, np.ndarray]
    """What follows from the task alone, such as the tokens of its instruction: computed once, and in every row."""
