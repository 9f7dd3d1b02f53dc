"""Policies: the protocol they follow, the built-in ones, and how they are loaded and named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.late import late_names
from yardarm.policies.batching import BatchedPolicy, Batching, Observations
from yardarm.policies.chunks import PlayableChunk, playable
from yardarm.policies.loading import (
    ARCHITECTURES,
    POLICIES,
    ForeignCheckpoint,
    LoadedPolicy,
    PolicySpec,
    make_policy,
    open_policy,
    policy_id,
)
from yardarm.policies.naming import named_policy
from yardarm.policies.options import OptimizerOptions, PeftOptions, SchedulerOptions
from yardarm.policies.plain.functions import as_policy
from yardarm.policies.protocol import ActionChunk, Look, ObservationSpec, Outcome, Policy, Releasable, Request
from yardarm.policies.traits import Hooks, Traits, own_name

if TYPE_CHECKING:
    from yardarm.policies.from_data import (
        against_from_data,
        code_in_policy,
        policies_from_data,
        policy_from_data,
        policy_to_data,
    )

__all__ = [
    "ARCHITECTURES",
    "POLICIES",
    "ActionChunk",
    "BatchedPolicy",
    "Batching",
    "ForeignCheckpoint",
    "Hooks",
    "LoadedPolicy",
    "Look",
    "ObservationSpec",
    "Observations",
    "OptimizerOptions",
    "Outcome",
    "PeftOptions",
    "PlayableChunk",
    "Policy",
    "PolicySpec",
    "Releasable",
    "Request",
    "SchedulerOptions",
    "Traits",
    "against_from_data",
    "as_policy",
    "code_in_policy",
    "make_policy",
    "named_policy",
    "open_policy",
    "own_name",
    "playable",
    "policies_from_data",
    "policy_from_data",
    "policy_id",
    "policy_to_data",
]

# Workers have no YAML.
FROM_DATA = ("against_from_data", "code_in_policy", "policies_from_data", "policy_from_data", "policy_to_data")
__getattr__ = late_names(__name__, dict.fromkeys(FROM_DATA, "from_data"))
