"""The options of π0.5."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from yardarm.policies.learned.config import NormalizationMode
from yardarm.policies.paligemma.config import PaliGemmaConfig
from yardarm.policies.vla.config import normalization

__all__ = ["Pi05Config"]


@dataclass
class Pi05Config(PaliGemmaConfig):
    """LeRobot's fields and defaults."""

    type: ClassVar[str] = "pi05"

    normalization_mapping: dict[str, NormalizationMode] = field(
        default_factory=lambda: normalization(NormalizationMode.QUANTILES)
    )
    tokenizer_max_length: int = 200  # the state is in the text
