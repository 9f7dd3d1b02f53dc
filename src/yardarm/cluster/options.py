"""The flags below ``--ray.``."""

from __future__ import annotations

import os
from dataclasses import dataclass

from yardarm.config import fit_fields, option
from yardarm.errors import UsageError

__all__ = ["LOCAL", "RayOptions"]

# Ray's word for a cluster on this machine that starts and ends with the run.
LOCAL = "local"


@dataclass
class RayOptions:
    """Flags below ``--ray.``."""

    address: str = option("", "the cluster: host:port or auto [RAY_ADDRESS, or a cluster of this machine alone]")
    policy_replicas: int = option(0, "the number of copies of the policy; 0: one per GPU, or one per node")

    def __post_init__(self) -> None:
        fit_fields(self, "--ray.")
        if self.policy_replicas < 0:
            raise UsageError(f"--ray.policy_replicas must not be negative, got {self.policy_replicas}")

    def chosen_address(self) -> str:
        """The flag's, or that of Ray's own variable, or a cluster on this machine."""
        return self.address or os.environ.get("RAY_ADDRESS", "") or LOCAL
