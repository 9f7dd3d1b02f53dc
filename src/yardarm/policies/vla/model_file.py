"""The configuration file of a model that others made, read with types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from yardarm.errors import UsageError, one_line

__all__ = ["ModelSettings"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A section of such a file; what has the wrong type is refused with the file, the field and the value."""

    values: Mapping[str, Any]
    source: str
    """The file."""
    path: str = ""
    """What leads to the section, for messages: ``text_config.``"""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The whole of a file."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"{path} is damaged: {one_line(error)}") from error
        if not isinstance(values, dict):
            raise UsageError(f"{path} is no configuration of a model: it must hold an object, not {_shown(values)}")
        return cls(values, str(path))

    def section(self, name: str) -> Self:
        """A part of it."""
        values = self.values.get(name)
        self.require(isinstance(values, dict), name, "an object")
        return type(self)(values or {}, self.source, f"{self.path}{name}.")

    def whole(self, name: str, default: int | None = None) -> int:
        """A size; without a default, it must be there."""
        value = self._value(name, default)
        self.require(isinstance(value, int) and not isinstance(value, bool) and value > 0, name, "a whole number ≥ 1")
        return value

    def number(self, name: str, default: float) -> float:
        """A positive number."""
        value = self._value(name, default)
        real = isinstance(value, int | float) and not isinstance(value, bool)
        self.require(real and 0 < value < math.inf, name, "a positive number")
        return float(value)

    def _value(self, name: str, default: Any) -> Any:
        value = self.values.get(name)
        return default if value is None else value

    def require(self, condition: bool, name: str, wanted: str) -> None:
        """Refuse the value of a field unless a condition holds."""
        if not condition:
            there = _shown(self.values[name]) if name in self.values else "missing"
            raise UsageError(f"{self.source}: {self.path}{name} must be {wanted}, but is {there}")


def _shown(value: Any) -> str:
    """A value as its file has it, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
