"""Workers and policies on the nodes of a Ray cluster, behind the same `Pool` as those of this machine.

Ray itself is imported when a cluster is opened, and nowhere else; the rest of this room when a run asks for a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.cluster.options import RayOptions
from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.cluster.connection import check_address, open_cluster
    from yardarm.cluster.runner import RayRunner

__all__ = ["RayOptions", "RayRunner", "check_address", "open_cluster"]

__getattr__ = late_names(__name__, {"RayRunner": "runner", "check_address": "connection", "open_cluster": "connection"})
