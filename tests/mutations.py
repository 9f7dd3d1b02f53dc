"""Damage as files suffer it: wrong values in JSON, flipped and lost bytes. The same seed does the same damage."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEEP = "[" * 3000 + "]" * 3000
# As they stand in the file: JSON from elsewhere has numbers that are none, and that are too large.
VALUES = (
    *("NaN", "Infinity", "-Infinity", "1e999", "1e308", "-1", "0", "0.5", "1" * 18, "9" * 30, "9" * 400),
    *('"12"', '""', '"NaN"', '"../../x"', '"{0.__class__}"', '"\\ud800"', '"\\u0000"', "true", "null"),
    *("[]", "{}", "[1]", '{"a": 1}', '["a", 1, null]', DEEP, ""),
)
MARK = "7c2f-mark"


def damaged(content: bytes, name: str, chance: random.Random) -> tuple[bytes, str]:
    """The content with one thing wrong with it, and what that is."""
    if name.endswith((".json", ".jsonl")) and chance.random() < 0.75:
        return _with_another_value(content.decode(), name.endswith(".jsonl"), chance)
    place = chance.randrange(len(content))
    if chance.random() < 0.1:
        return content[:place], f"cut off at {place}"
    flipped = bytearray(content)
    flipped[place] ^= 1 << chance.randrange(8)
    return bytes(flipped), f"byte {place} is {flipped[place]}"


def _with_another_value(text: str, is_lines: bool, chance: random.Random) -> tuple[bytes, str]:
    lines = text.splitlines() if is_lines else [text]
    number = chance.randrange(len(lines))
    content = json.loads(lines[number])
    parent, key = chance.choice(list(_places(content)))
    value = chance.choice(VALUES)
    if value:
        parent[key] = MARK
        lines[number] = json.dumps(content).replace(f'"{MARK}"', value)
    else:
        del parent[key]
        lines[number] = json.dumps(content)
    return "".join(f"{line}\n" for line in lines).encode(), f"{key!r} in line {number + 1} is {value[:20] or 'gone'}"


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Where there are values: a container, and the key or the number in it."""
    for key, value in list(content.items() if isinstance(content, dict) else enumerate(content)):
        yield content, key
        if isinstance(value, dict | list):
            yield from _places(value)


def files_below(folder: Path, *endings: str) -> list[Path]:
    """Every file of these kinds, in an order that does not change."""
    return sorted(path for path in folder.rglob("*") if path.suffix in endings and path.is_file())
