"""Yardarm evaluates robot policies in simulation: fast, reproducible, with honest statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "evaluate", "evaluate_several", "load_policy", "make_env"]

if TYPE_CHECKING:
    from yardarm.api import compare, evaluate, evaluate_several, make_env
    from yardarm.policies.learning import load_policy

# Workers import this package, too, and need none of these.
__getattr__ = late_names(
    __name__,
    {
        **dict.fromkeys(("compare", "evaluate", "evaluate_several", "make_env"), "api"),
        "load_policy": "policies.learning",
    },
)
