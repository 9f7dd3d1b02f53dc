"""The flags below ``--ray.``."""

from __future__ import annotations

import os
from dataclasses import dataclass

from yardarm.config import option
from yardarm.errors import UsageError

__all__ = ["LOCAL", "RayOptions"]

# What Ray calls a cluster of this machine that is started for the run, and ended with it.
LOCAL = "local"


@dataclass
class RayOptions:
    """Flags below ``--ray.``."""

    address: str = option("", "the cluster: host:port or auto [RAY_ADDRESS, or a cluster of this machine alone]")
    policy_replicas: int = option(0, "the number of copies of the policy; 0: one per GPU, or one per node")

    def __post_init__(self) -> None:
        self.policy_replicas = int(self.policy_replicas)
        if self.policy_replicas < 0:
            raise UsageError(f"--ray.policy_replicas must not be negative, got {self.policy_replicas}")

    def chosen_address(self) -> str:
        """What the flag says, or Ray's own variable, or a cluster of this machine."""
        return self.address or os.environ.get("RAY_ADDRESS", "") or LOCAL
