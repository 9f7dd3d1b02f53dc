"""Yardarm evaluates robot policies in simulation: fast, reproducible, with honest statistics.

run = yardarm.evaluate("expert", ["reach-v3", "push-v3"], n_episodes=10)
print(run)                                  # a table; a notebook shows it in HTML
yardarm.compare(run, "outputs/eval/other")  # which is better, and how certain that is
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "compare",
    "evaluate",
    "evaluate_several",
    "load_policy",
    "make_env",
    "read_run",
    "record",
    "train",
]

if TYPE_CHECKING:
    from yardarm.api import compare, evaluate, evaluate_several, make_env, read_run, record, train
    from yardarm.policies.learning import load_policy

# Workers import this package, too, and need none of these.
API = ("compare", "evaluate", "evaluate_several", "make_env", "read_run", "record", "train")
__getattr__ = late_names(__name__, {**dict.fromkeys(API, "api"), "load_policy": "policies.learning"})
