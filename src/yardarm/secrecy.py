"""Recognises options that look like secrets. They are used but never written to disk: run folders get shared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["is_secret", "redacted", "without_secrets"]

# Words that make a name secret wherever they stand in it.
SECRET = {
    *("password", "passwd", "passphrase", "pwd", "secret", "secrets", "credential", "credentials"),
    *("auth", "authorization", "apikey", "bearer", "cookie", "headers"),
}
# Words that make a name secret at its end, unless a harmless word comes before: `success_key`, `pad_token`.
SECRET_AT_THE_END = {"key", "token"}
HARMLESS = {
    *("action", "camera", "image", "info", "obs", "observation", "reward", "sort", "state", "success", "task", "video"),
    *("bos", "cls", "eos", "mask", "pad", "sep", "special", "unk"),
}
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret(name: str) -> bool:
    """Whether an option of this name is likely to hold a secret."""
    words = [word.lower() for word in WORDS.findall(name)]
    if SECRET.intersection(words):
        return True
    return words[-1:] != [] and words[-1] in SECRET_AT_THE_END and (words[-2:-1] or [""])[0] not in HARMLESS


def without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without secrets at any depth, safe to write to disk."""
    return {
        name: without_secrets(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if not is_secret(str(name))
    }


def redacted(words: Sequence[str]) -> list[str]:
    """A command that is safe to write to disk: ``--policy.api_key=…``, or ``…`` for the word after the flag."""
    shown: list[str] = []
    hides_next = False
    for word in words:
        name, equals, _ = word.partition("=")
        hides = name.startswith("--") and is_secret(name.rpartition(".")[2])
        shown.append("…" if hides_next and not word.startswith("--") else f"{name}=…" if hides and equals else word)
        hides_next = hides and not equals
    return shown
