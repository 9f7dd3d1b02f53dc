"""Finds the user's own modules in the current folder.

That folder is not on the search path: it may be a download, and a file in it must not run just because it has the
name of a package that some library tries to import. It is searched only for modules that the user typed on the command
line and for the modules that those import, and only after all installed packages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

__all__ = ["allow_own_module", "allowed_modules", "take_over_modules"]


class OwnModuleFinder(MetaPathFinder):
    """Finds allowed modules in one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.allowed: set[str] = set()
        self._found: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find an allowed top-level module; a package finds its submodules itself."""
        if path is not None or not (fullname in self.allowed or self._is_wanted_by_own()):
            return None
        spec = PathFinder.find_spec(fullname, [self.folder])
        if spec is not None:
            self._found.add(fullname)
        return spec

    def _is_wanted_by_own(self) -> bool:
        """Whether the import statement is in a module that was found here."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and _top(frame.f_globals.get("__name__")) in ("importlib", "_frozen_importlib"):
            frame = frame.f_back
        return frame is not None and _top(frame.f_globals.get("__name__")) in self._found


def allow_own_module(name: str) -> None:
    """Allow a module that the user named to be found in the current folder."""
    _finder(str(Path.cwd())).allowed.add(_top(name))


def allowed_modules() -> dict[str, Any] | None:
    """What another process passes to `take_over_modules`."""
    finder = _installed()
    return None if finder is None else {"folder": finder.folder, "names": sorted(finder.allowed)}


def take_over_modules(allowed: Mapping[str, Any] | None) -> None:
    """Allow the modules that another process allows."""
    if allowed is not None:
        _finder(allowed["folder"]).allowed.update(allowed["names"])


def _finder(folder: str) -> OwnModuleFinder:
    finder = _installed()
    if finder is None:
        finder = OwnModuleFinder(folder)
        sys.meta_path.append(finder)  # at the end: installed packages come first
    finder.folder = folder
    return finder


def _installed() -> OwnModuleFinder | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, OwnModuleFinder)), None)


def _top(name: str | None) -> str:
    return (name or "").partition(".")[0]
