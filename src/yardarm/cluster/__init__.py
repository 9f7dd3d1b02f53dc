"""Workers and policies on the nodes of a Ray cluster, behind the same `Pool` as those of this machine.

Ray itself is imported when a cluster is opened, and by nobody else.
"""

from yardarm.cluster.connection import Cluster, check_address, open_cluster
from yardarm.cluster.messages import Charge, Question
from yardarm.cluster.options import RayOptions
from yardarm.cluster.pool import ClusterPool
from yardarm.cluster.replicas import Replicas
from yardarm.cluster.runner import RayRunner
from yardarm.cluster.setup import Setup

__all__ = [
    "Charge",
    "Cluster",
    "ClusterPool",
    "Question",
    "RayOptions",
    "RayRunner",
    "Replicas",
    "Setup",
    "check_address",
    "open_cluster",
]
