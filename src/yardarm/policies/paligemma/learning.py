"""How π0 and π0.5 are trained, as LeRobot does it."""

from __future__ import annotations

from typing import ClassVar

from yardarm.policies.vla.objective import FlowObjective

__all__ = ["ADAPTED", "PaliGemmaObjective"]

PROJECTIONS = "state_proj|action_in_proj|action_out_proj|action_time_mlp_in|action_time_mlp_out"
# The expert's queries and values, and what leads into it and out of it; π0.5's `time_mlp_…` are not among them.
ADAPTED = rf"(.*\.gemma_expert\..*\.self_attn\.(q|v)_proj|model\.({PROJECTIONS}))"


class PaliGemmaObjective(FlowObjective):
    """Steps that pad an episode's end count as much as others: published checkpoints were trained so."""

    counts_padding: ClassVar[bool] = True
