"""Reads JSON that may be damaged or untrusted, and checks once that it holds what the rest of the program relies on.

    TASK = record({"name": text, "max_steps": whole})
    MANIFEST = record({"tasks": list_of(TASK)}, optional={"wall_s": number})
    MANIFEST(read_json(path), "")

A check raises `ValueError` with the place of what is wrong: "tasks[3].max_steps must be a whole number, got 'many'".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "Check",
    "anything",
    "count",
    "flag",
    "inside",
    "list_of",
    "map_of",
    "number",
    "one_of",
    "optional",
    "parse_json",
    "positive",
    "quantity",
    "read_json",
    "record",
    "text",
    "whole",
]

Check = Callable[[Any, str], None]
"""Raises `ValueError` if the value found at this place is not what it should be."""

MOST_DEPTH = 100
# A 64-bit integer has at most 20 digits. Longer ones mean that the file is wrong, and nothing can compute with them.
MOST_DIGITS = 20
LONGEST_SHOWN = 40


def read_json(path: Path) -> Any:
    """Read a JSON file; `ValueError` if it is damaged."""
    return parse_json(path.read_bytes())


def parse_json(data: bytes) -> Any:
    """Parse JSON; `ValueError` also for valid JSON that the program could not use or write again.

    That is: integers beyond 64 bits, hundreds of nested lists, and lone surrogates (half a character).
    """
    try:
        content = json.loads(data, parse_int=_integer)
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_DEPTH} deep") from None
    if data.count(b"[") + data.count(b"{") > MOST_DEPTH:
        _check_depth(content)
    if b"\\ud" in data or b"\\uD" in data:
        json.dumps(content, ensure_ascii=False).encode()  # raises `UnicodeEncodeError`, a `ValueError`
    return content


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits)} digits")
    return int(digits)


def _check_depth(content: Any) -> None:
    level = [content]
    for _ in range(MOST_DEPTH):
        inner = [value.values() if isinstance(value, dict) else value for value in level]
        level = [item for values in inner for item in values if isinstance(item, dict | list)]
        if not level:
            return
    raise ValueError(f"it is nested more than {MOST_DEPTH} deep")


def anything(value: Any, place: str) -> None:
    """Any value."""


def text(value: Any, place: str) -> None:
    """A string."""
    _demand(isinstance(value, str), value, place, "text")


def flag(value: Any, place: str) -> None:
    """True or false."""
    _demand(isinstance(value, bool), value, place, "true or false")


def whole(value: Any, place: str) -> None:
    """A whole number."""
    _demand(isinstance(value, int) and not isinstance(value, bool), value, place, "a whole number")


def count(value: Any, place: str) -> None:
    """A whole number of at least 0."""
    whole(value, place)
    _demand(value >= 0, value, place, "0 or more")


def positive(value: Any, place: str) -> None:
    """A whole number of at least 1."""
    whole(value, place)
    _demand(value > 0, value, place, "1 or more")


def quantity(value: Any, place: str) -> None:
    """A number, including infinity and NaN: a reward can be either."""
    _demand(isinstance(value, int | float) and not isinstance(value, bool), value, place, "a number")


def number(value: Any, place: str) -> None:
    """A finite number."""
    quantity(value, place)
    _demand(math.isfinite(value), value, place, "a finite number")


def one_of(choices: Sequence[str]) -> Check:
    """One of these words."""

    def checked(value: Any, place: str) -> None:
        _demand(value in choices, value, place, f"one of {', '.join(choices)}")

    return checked


def optional(check: Check) -> Check:
    """The same check, but null is allowed."""

    def checked(value: Any, place: str) -> None:
        if value is not None:
            check(value, place)

    return checked


def list_of(check: Check) -> Check:
    """A list whose items pass the check."""

    def checked(value: Any, place: str) -> None:
        _demand(isinstance(value, list), value, place, "a list")
        for number, item in enumerate(value):
            check(item, f"{place}[{number}]")

    return checked


def map_of(check: Check) -> Check:
    """A map with any keys, whose values pass the check."""

    def checked(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "a map")
        for name, item in value.items():
            check(item, inside(place, name))

    return checked


def record(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """A map with required and optional keys; other keys are ignored, since a newer version may have added them."""

    def checked(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "a map")
        for name, check in required.items():
            if name not in value:
                raise ValueError(f"{inside(place, name)} is missing")
            check(value[name], inside(place, name))
        for name, check in (optional or {}).items():
            if name in value:
                check(value[name], inside(place, name))

    return checked


def inside(place: str, name: str) -> str:
    """The place of a named value inside a map."""
    return f"{place}.{name}" if place else name


def _demand(holds: bool, value: Any, place: str, what: str) -> None:
    if not holds:
        shown = repr(value)
        shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
        raise ValueError(f"{place or 'it'} must be {what}, got {shown}")
