"""The options of π0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from yardarm.policies.paligemma.config import PaliGemmaConfig

__all__ = ["Pi0Config"]


@dataclass
class Pi0Config(PaliGemmaConfig):
    """LeRobot's fields and defaults."""

    type: ClassVar[str] = "pi0"
