"""Workers and policies on the nodes of a Ray cluster, behind the same `Pool` as those of this machine.

Ray itself is imported when a cluster is opened, and nowhere else.
"""

from yardarm.cluster.connection import check_address, open_cluster
from yardarm.cluster.options import RayOptions
from yardarm.cluster.runner import RayRunner

__all__ = ["RayOptions", "RayRunner", "check_address", "open_cluster"]
