"""Turns plain data into configuration classes: checks names and types, and parses the text of flags."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from yardarm.config.flag_text import BareFlag, FlagText, plain_value
from yardarm.errors import UsageError, nearest

__all__ = ["check_names", "decode", "decode_value", "misfit_text", "refuse_boolean", "require_value"]

EVAL = "eval"
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path"}


def decode(kind: type, section: str, data: Mapping[str, Any], command: str = EVAL) -> Any:
    """Make a configuration class from its section's data; `command` is the one whose help lists the flags."""
    import draccus

    hints = typing.get_type_hints(kind)
    check_names(section, data, {field.name for field in dataclasses.fields(kind)}, command)
    prefix = f"{section}." if section else ""
    fitting = {name: _fitting(f"{prefix}{name}", hints[name], value) for name, value in data.items()}
    try:
        return draccus.decode(kind, fitting)
    except draccus.utils.DecodingError as error:
        name, text = misfit_text(error, hints, fitting)
        raise UsageError(f"--{prefix}{name} {text}") from error


def decode_value(name: str, hint: Any, value: Any) -> Any:
    """Decode one option outside of all sections."""
    import draccus

    fitting = _fitting(name, hint, value)
    try:
        return draccus.decode(hint, fitting)
    except draccus.utils.DecodingError as error:
        raise UsageError(f"--{name} must be {_wanted(hint)}, got {_shown(fitting)}") from error


def check_names(section: str, data: Mapping[str, Any], known: Iterable[str], command: str = EVAL) -> None:
    """Raise if the data has an option that the section does not have."""
    for name in map(str, data):
        if name not in known:
            prefix = f"{section}." if section else ""
            raise UsageError(
                f"unknown option '--{prefix}{name}'{nearest(name, known)} `yardarm {command} --help` lists all"
            )


def require_value(name: str, value: Any) -> None:
    """Raise if a flag that needs a value was given without one."""
    if isinstance(value, BareFlag):
        raise UsageError(f"--{name} needs a value: --{name}=…")


def refuse_boolean(name: str, hint: Any, value: Any) -> None:
    """Raise if a value is true or false where neither is meant; Python would take it for 1 or 0."""
    if isinstance(value, bool) and bool not in _kinds(hint):
        raise UsageError(f"{name} must be {_wanted(hint)}, got {str(value).lower()}")


def misfit_text(error: Exception, hints: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[str, str]:
    """Which option did not fit, and why: ("n_episodes", "must be a whole number, got 'many'")."""
    name, _, reason = str(error).replace("`", "").partition(": ")
    if name in hints and name in data:
        return name, f"must be {_wanted(hints[name])}, got {_shown(data[name])}"
    return name, f"does not fit: {reason.partition(chr(10))[0]}"  # a part of an option, such as features.state


def _fitting(flag: str, hint: Any, value: Any) -> Any:
    """Keep a flag's text, except "null", if the option is text; otherwise parse it as data."""
    kinds = _kinds(hint)
    if bool not in kinds:
        require_value(flag, value)
    if isinstance(value, str) and not value.strip() and Path in kinds:
        raise UsageError(f"--{flag} is empty; give a path, or omit it")
    if isinstance(value, FlagText) and (str in kinds or Path in kinds):
        return None if value == "null" and type(None) in kinds else str(value)
    return plain_value(value)


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types that a value may have."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def _wanted(hint: Any) -> str:
    """The types that a value may have, in words."""
    kinds = [kind for kind in _kinds(hint) if kind is not type(None)]
    return " or ".join(WANTED.get(kind) or _named(kind) for kind in kinds)


def _named(kind: Any) -> str:
    origin = typing.get_origin(kind) or kind
    if origin is dict:
        return "a mapping like '{\"name\": value}'"
    if origin in (list, tuple):
        return "a list like '[1, 2]'"
    return str(kind) if typing.get_args(kind) else getattr(kind, "__name__", str(kind))


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
