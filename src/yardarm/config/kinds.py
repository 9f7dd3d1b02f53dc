"""The types that an annotation allows, in words. Workers import this too."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["kinds_of", "shown", "wanted"]

WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path"}
LONGEST_SHOWN = 60


def kinds_of(hint: Any) -> tuple[Any, ...]:
    """The types that a value may have."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def wanted(hint: Any) -> str:
    """The types that a value may have, in words."""
    kinds = [kind for kind in kinds_of(hint) if kind is not type(None)]
    return " or ".join(WANTED.get(kind) or _named(kind) for kind in kinds)


def shown(value: Any) -> str:
    """A value in a message."""
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _named(kind: Any) -> str:
    origin = typing.get_origin(kind) or kind
    if origin in (dict, Mapping):
        return "a mapping like '{\"name\": value}'"
    if origin in (list, tuple, Sequence):
        return "a list like '[1, 2]'"
    return str(kind) if typing.get_args(kind) else getattr(kind, "__name__", str(kind))
