"""Yardarm evaluates robot policies in simulation: fast, reproducible, with honest statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "evaluate", "evaluate_several", "load_policy", "make_env"]

if TYPE_CHECKING:
    from yardarm.api import compare, evaluate, evaluate_several, make_env
    from yardarm.policies.learning import load_policy


def __getattr__(name: str) -> Any:
    # Workers import this package too, so everything they do not need is imported on first use.
    if name in ("compare", "evaluate", "evaluate_several", "make_env"):
        from yardarm import api

        return getattr(api, name)
    if name == "load_policy":
        from yardarm.policies.learning import load_policy

        return load_policy
    raise AttributeError(f"module 'yardarm' has no attribute '{name}'")
