"""Workers and policies on the nodes of a Ray cluster, behind the same `Pool` as those of this machine.

Ray itself is imported when a cluster is opened, and nowhere else; the rest of this room when a run asks for a cluster.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from yardarm.cluster.options import RayOptions

if TYPE_CHECKING:
    from yardarm.cluster.connection import check_address, open_cluster
    from yardarm.cluster.runner import RayRunner

__all__ = ["RayOptions", "RayRunner", "check_address", "open_cluster"]

LATE = {"RayRunner": "runner", "check_address": "connection", "open_cluster": "connection"}


def __getattr__(name: str) -> Any:
    if name in LATE:
        return getattr(importlib.import_module(f"yardarm.cluster.{LATE[name]}"), name)
    raise AttributeError(f"module 'yardarm.cluster' has no attribute '{name}'")
