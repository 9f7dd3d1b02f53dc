"""Names that a package imports when they are first asked for, because what they need is slow to import, or missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["late_names"]


def late_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: for each name, the module below the package that has it.

    `dir` of the package then lists its `__all__`: the late names too, and nothing else.
    """
    module = sys.modules[package]

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    module.__dir__ = lambda: sorted(module.__all__)  # type: ignore[method-assign]
    return load
