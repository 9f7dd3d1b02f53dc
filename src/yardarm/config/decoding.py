"""Turns plain data into configuration classes: checks names and types, and parses the text of flags."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from yardarm.config.flag_text import FlagText, plain_value
from yardarm.errors import UsageError, nearest

__all__ = ["check_names", "decode", "decode_value", "deepened"]

EVAL = "eval"


def decode(kind: type, section: str, data: Mapping[str, Any], command: str = EVAL) -> Any:
    """Make a configuration class from its section's data; `command` is the one whose help lists the flags."""
    import draccus

    hints = typing.get_type_hints(kind)
    check_names(section, data, {field.name for field in dataclasses.fields(kind)}, command)
    try:
        return draccus.decode(kind, {name: _fitting(hints[name], value) for name, value in data.items()})
    except draccus.utils.DecodingError as error:
        raise _misfit(section, error, hints) from error


def decode_value(name: str, hint: Any, value: Any) -> Any:
    """Decode one option outside of all sections."""
    import draccus

    try:
        return draccus.decode(hint, _fitting(hint, value))
    except draccus.utils.DecodingError as error:
        raise UsageError(f"--{name}={value} is not valid: {' '.join(str(error).split())}") from error


def deepened(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same data with ``image_transforms.enable`` as sections in sections."""
    deep: dict[str, Any] = {}
    for key, value in data.items():
        *way, last = key.split(".")
        inner = deep
        for step in way:
            inner[step] = dict(inner.get(step) or {})
            inner = inner[step]
        inner[last] = value if not way else plain_value(value)
    return deep


def check_names(section: str, data: Mapping[str, Any], known: Iterable[str], command: str = EVAL) -> None:
    """Raise if the data has an option that the section does not have."""
    for name in map(str, data):
        if name not in known:
            prefix = f"{section}." if section else ""
            raise UsageError(
                f"unknown option '--{prefix}{name}'{nearest(name, known)} `yardarm {command} --help` lists all"
            )


def _fitting(hint: Any, value: Any) -> Any:
    """Keep a flag's text, except "null", if the option is text; otherwise parse it as data."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if is_union else (hint,)
    if isinstance(value, FlagText) and (str in kinds or Path in kinds):
        return None if value == "null" and type(None) in kinds else str(value)
    return plain_value(value)


def _misfit(section: str, error: Exception, hints: Mapping[str, Any]) -> UsageError:
    name, _, reason = str(error).replace("`", "").partition(": ")
    flag = ".".join(part for part in (section, name) if part)
    first = reason.splitlines()[0]
    if first.endswith(":") and name in hints:  # followed by one line for each possible type
        kinds = [kind for kind in typing.get_args(hints[name]) if kind is not type(None)]
        named = " or ".join(str(kind) if typing.get_args(kind) else kind.__name__ for kind in kinds)
        return UsageError(f"--{flag}: the value must be {named}")
    return UsageError(f"--{flag}: {first}")
