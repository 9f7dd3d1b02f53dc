"""One registry for everything that has a name: benchmarks, policies, robots."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from yardarm.errors import UsageError, nearest, one_line

__all__ = ["Registry", "import_object"]


def import_object(path: str) -> Any:
    """Import ``"package.module:Name"``."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"'{path}' is not of the form package.module:Name")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"cannot import '{path}': {error}; is it installed? The current folder is only searched for modules "
            "that you type"
        ) from error
    except Exception as error:  # a user's module can fail in any way while it is imported
        raise UsageError(f"cannot import '{path}': {one_line(error)}") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise UsageError(
            f"module '{module_name}' has no '{attribute}'{nearest(attribute, vars(module))} "
            f"it was imported from {getattr(module, '__file__', '?')}"
        ) from None


class Registry:
    """Maps names to ``"module:Class"`` paths that are imported on first use.

    Other packages add names through an entry-point group, such as ``yardarm.benchmarks``.
    """

    def __init__(self, kind: str, entry_point_group: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self._group = entry_point_group
        self._paths = dict(built_in)
        self._plugins: dict[str, EntryPoint] | None = None

    def register(self, name: str, path: str) -> None:
        """Add a name; refuse one that is taken."""
        if name in self._paths:
            raise UsageError(f"{self.kind} '{name}' is already registered, as {self._paths[name]}")
        self._paths[name] = path

    def names(self) -> list[str]:
        """All names, built-in and from plugins, in alphabetical order."""
        return sorted({*self._paths, *self._entry_points()})

    def path(self, name: str) -> str:
        """The ``"module:Class"`` of a name."""
        if name in self._paths:
            return self._paths[name]
        plugins = self._entry_points()
        if name in plugins:
            return plugins[name].value
        raise UsageError(
            f"unknown {self.kind} '{name}'{nearest(name, self.names())} Installed: {', '.join(self.names())}."
        )

    def load(self, name: str) -> Any:
        """Import the object that a name stands for."""
        return import_object(self.path(name))

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._plugins is None:
            plugins: dict[str, EntryPoint] = {}
            for entry in entry_points(group=self._group):
                taken = self._paths.get(entry.name) or (plugins[entry.name].value if entry.name in plugins else None)
                if taken not in (None, entry.value):
                    raise UsageError(
                        f"{self.kind} '{entry.name}' is claimed by two packages, as {taken} and as {entry.value}; "
                        "uninstall one of them"
                    )
                plugins[entry.name] = entry
            self._plugins = plugins
        return self._plugins
