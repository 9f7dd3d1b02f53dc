"""Names that a package imports when they are first asked for, because what they need is slow to import, or missing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["late_names"]


def late_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: for each name, the module below the package that has it."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return load
