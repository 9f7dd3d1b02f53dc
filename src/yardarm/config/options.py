"""Options of configuration classes, and checks of their values. Workers import this, too: it needs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import UsageError, nearest

__all__ = ["NamedCode", "one_of", "option", "positive"]


def option(default: Any, help: str) -> Any:
    """A configuration field with a line for ``--help``."""
    return field(default=default, metadata={"help": help})


def positive(name: str, value: float) -> None:
    """Refuse a flag's value that is not above zero."""
    if value <= 0:
        raise UsageError(f"{name} must be positive, got {value}")


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse a value that is not among those known; an empty one may be, and is not listed."""
    known = list(known)
    if value not in known:
        listed = ", ".join(filter(None, known))
        raise UsageError(f"{name} '{value}' is unknown{nearest(value, known)} one of {listed}")


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Code that an option names, and that would run on this machine."""

    option: str
    what: str
    module: str = ""
    """The module, if it is one: what the user types may lie in the current folder."""
