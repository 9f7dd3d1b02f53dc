"""SmolVLA as a bundle."""

from __future__ import annotations

from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.smolvla.config import SmolVlaConfig
from yardarm.policies.smolvla.network import SmolVlaNetwork
from yardarm.policies.vla.objective import FlowObjective
from yardarm.policies.vla.policy import VlaPolicy

__all__ = ["SMOLVLA"]


PROJECTIONS = "state_proj|action_in_proj|action_out_proj|action_time_mlp_in|action_time_mlp_out"

SMOLVLA = Architecture(
    config=SmolVlaConfig,
    network=SmolVlaNetwork,
    objective=FlowObjective,
    policy=VlaPolicy,
    # What acts, and the ways into it and out of it, as in LeRobot.
    adapted=rf"model\.(vlm_with_expert\.lm_expert\..*\.(q|v)_proj|{PROJECTIONS})",
)
