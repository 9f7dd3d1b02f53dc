"""Checks that the fields of a configuration hold what their annotations say. Workers import this too.

    @dataclass
    class RecordOptions:
        n_episodes: int = option(50, "episodes of each task")

        def __post_init__(self) -> None:
            fit_fields(self, "--")  # RecordOptions(n_episodes="ten"): --n_episodes must be a whole number, got 'ten'

Flags and files are decoded before; this is for values that a program gives.
"""

from __future__ import annotations

import dataclasses
import numbers
import operator
import os
import typing
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from yardarm.config.kinds import kinds_of, shown, wanted
from yardarm.errors import UsageError

__all__ = ["fit_fields", "fitted"]


class _MisfitError(Exception):
    """A value is not of a kind."""


def fit_fields(config: Any, prefix: str) -> None:
    """Make each field what its annotation says: numpy's numbers and text for a path are welcome, other types refused.

    `prefix` stands before a field's name in the message: ``--eval.``.
    """
    kind: Any = type(config)
    hints = _hints(kind)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        fitting = fitted(f"{prefix}{field.name}", hints[field.name], value)
        if fitting is not value:
            object.__setattr__(config, field.name, fitting)  # also where the class is frozen


def fitted(name: str, hint: Any, value: Any) -> Any:
    """The value as an annotation wants it, or a `UsageError` that says what it must be."""
    try:
        return _as_one_of(hint, value)
    except _MisfitError:
        raise UsageError(f"{name} must be {wanted(hint)}, got {shown(value)}") from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _as(kind: Any, value: Any) -> Any:
    """The value as this kind; a kind that is not plain, like a protocol, takes anything."""
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is int:
        return _whole(value)
    if origin is float:
        _demand(isinstance(value, numbers.Real) and not _is_bool(value))
        return value if type(value) in (int, float) else float(value)
    if origin is bool:
        _demand(_is_bool(value))
        return bool(value)
    if origin is Path:
        _demand(isinstance(value, str | os.PathLike))
        return Path(value)
    if origin in (list, Sequence, tuple):
        _demand(isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping))
        items = [_as_one_of(inner[0], item) for item in value] if inner else list(value)
        return tuple(items) if origin is tuple else items
    if origin in (dict, Mapping):
        _demand(isinstance(value, Mapping))
        key, item = inner or (Any, Any)
        return {_as_one_of(key, name): _as_one_of(item, own) for name, own in value.items()}
    if origin in (str, type(None)) or dataclasses.is_dataclass(origin):
        _demand(isinstance(value, origin))
    return value


def _as_one_of(hint: Any, value: Any) -> Any:
    for kind in kinds_of(hint):
        try:
            return _as(kind, value)
        except _MisfitError:
            continue
    raise _MisfitError


def _whole(value: Any) -> int:
    _demand(not _is_bool(value))
    try:
        return operator.index(value)
    except TypeError:
        raise _MisfitError from None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # numpy's, without importing it


def _demand(holds: bool) -> None:
    if not holds:
        raise _MisfitError
