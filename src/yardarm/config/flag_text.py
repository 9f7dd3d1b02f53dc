"""The text of a flag, before anybody knows what it is for."""

from __future__ import annotations

from typing import Any

__all__ = ["FlagText", "plain_value"]


class FlagText(str):
    """The text of a flag: it is data in YAML's notation, unless what it is for wants text."""

    __slots__ = ()

    def value(self) -> Any:
        """A number, a boolean, null, a list or a mapping; anything else stays text."""
        import yaml

        try:
            value = yaml.safe_load(self)
        except yaml.YAMLError:
            return str(self)
        return value if isinstance(value, bool | int | float | list | dict | None) else str(self)


def plain_value(value: Any) -> Any:
    """What a flag's text says; anything else as it is."""
    return value.value() if isinstance(value, FlagText) else value
