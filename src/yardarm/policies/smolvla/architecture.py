"""SmolVLA as a bundle."""

from __future__ import annotations

from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.smolvla.config import SmolVlaConfig
from yardarm.policies.smolvla.network import SmolVlaNetwork
from yardarm.policies.vla.objective import FlowObjective
from yardarm.policies.vla.policy import VlaPolicy

__all__ = ["SMOLVLA"]


SMOLVLA = Architecture(config=SmolVlaConfig, network=SmolVlaNetwork, objective=FlowObjective, policy=VlaPolicy)
