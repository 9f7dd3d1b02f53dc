"""The text of a flag before it is decoded."""

from __future__ import annotations

from typing import Any

__all__ = ["BareFlag", "FlagText", "plain_value"]


class FlagText(str):
    """A flag's text as the user typed it: YAML, unless the option is text."""

    __slots__ = ()

    def value(self) -> Any:
        """Parse a number, a boolean, null, a list or a mapping; anything else stays text."""
        import yaml

        try:
            value = yaml.safe_load(self)
        except yaml.YAMLError:
            return str(self)
        return value if isinstance(value, bool | int | float | list | dict | None) else str(self)


class BareFlag(FlagText):
    """A flag without a value: true, if the option is true or false, and a slip otherwise."""

    __slots__ = ()

    def __new__(cls) -> BareFlag:
        """Its text is always the same."""
        return super().__new__(cls, "true")


def plain_value(value: Any) -> Any:
    """Parse a flag's text; return any other value unchanged."""
    return value.value() if isinstance(value, FlagText) else value
