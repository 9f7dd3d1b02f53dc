"""Options of configuration classes, and checks of their values. Workers import this too: it needs no packages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import UsageError, nearest

__all__ = ["NamedCode", "one_of", "option", "positive"]


def option(default: Any, help: str) -> Any:
    """A configuration field with its line in ``--help``."""
    return field(default=default, metadata={"help": help})


def positive(name: str, value: float) -> None:
    """Raise if a flag's value is not above zero."""
    if not value > 0:  # NaN is not, either
        raise UsageError(f"{name} must be positive, got {value}")


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Raise if a value is not a known one; an empty one may be known, but is not listed."""
    known = list(known)
    if value not in known:
        listed = ", ".join(filter(None, known))
        raise UsageError(f"{name} '{value}' is unknown{nearest(value, known)} use one of {listed}")


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Code that an option names and that would run on this machine."""

    option: str
    what: str
    module: str = ""
    """The module, if it is one: a module that the user typed may be in the current folder."""
