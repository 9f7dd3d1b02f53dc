"""Ranges that amounts are drawn from, and the values that users may give for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from yardarm.errors import UsageError

__all__ = ["Limits", "Span", "is_number"]


@dataclass(frozen=True, slots=True)
class Span:
    """A range of equally likely numbers."""

    low: float
    high: float

    def draw(self) -> float:
        """One number."""
        return float(self.draw_many(1).item())

    def draw_many(self, count: int) -> Tensor:
        """`count` numbers."""
        return torch.empty(count).uniform_(self.low, self.high)

    def draw_whole(self) -> int:
        """One whole number, both ends included."""
        return int(torch.randint(int(self.low), int(self.high) + 1, ()).item())


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a number; a value outside them raises an error that names the option."""

    low: float = -math.inf
    high: float = math.inf
    low_is_in: bool = True
    whole: bool = False

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.low == -math.inf:
            return kind
        if self.high == math.inf:
            return f"{kind} {'of at least' if self.low_is_in else 'above'} {self.low:g}"
        if self.low_is_in:
            return f"{kind} from {self.low:g} to {self.high:g}"
        return f"{kind} above {self.low:g} and up to {self.high:g}"

    def number(self, name: str, value: Any) -> float:
        """One number."""
        if not self._allow(value):
            raise UsageError(f"{name} must be {self}, got {value!r}")
        return float(value)

    def span(self, name: str, value: Any) -> Span:
        """[low, high], or one number that is both."""
        ends = (value, value) if is_number(value) else value
        if not _is_pair(ends) or not all(self._allow(end) for end in ends):
            raise UsageError(f"{name} must be {self}, or [low, high] of two such numbers, got {value!r}")
        if ends[0] > ends[1]:
            raise UsageError(f"{name} must be [low, high] with the lower end first, got {value!r}")
        return Span(float(ends[0]), float(ends[1]))

    def span_around(self, centre: float, name: str, value: Any) -> Span:
        """[low, high], or one number: the distance from the centre, cut off at the limits."""
        if not is_number(value):
            return self.span(name, value)
        reach = Limits(0, self.high - centre).number(name, value)
        return Span(max(self.low, centre - reach), centre + reach)

    def pair(self, name: str, value: Any) -> tuple[float, float]:
        """Two numbers, in any order: one for each axis."""
        if not _is_pair(value) or not all(self._allow(number) for number in value):
            raise UsageError(f"{name} must be [x, y], each {self}, got {value!r}")
        return float(value[0]), float(value[1])

    def _allow(self, value: Any) -> bool:
        if not is_number(value) or (self.whole and value != int(value)):
            return False
        return self.low <= value <= self.high and (self.low_is_in or value > self.low)


def is_number(value: Any) -> bool:
    """Whether it is a finite number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
