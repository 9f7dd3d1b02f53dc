"""Policies: the protocol they follow, the built-in ones, and how they are loaded and named."""

from yardarm.policies.batching import BatchedPolicy, Batching, Observations
from yardarm.policies.chunks import PlayableChunk, playable
from yardarm.policies.functions import as_policy
from yardarm.policies.loading import (
    CHECKPOINT_TYPES,
    POLICIES,
    ForeignCheckpoint,
    LoadedPolicy,
    PolicySpec,
    make_policy,
    open_policy,
    policy_id,
)
from yardarm.policies.optimization import OptimizerOptions, SchedulerOptions
from yardarm.policies.peft_options import PeftOptions
from yardarm.policies.protocol import ActionChunk, Look, ObservationSpec, Outcome, Policy, Releasable, Request

__all__ = [
    "CHECKPOINT_TYPES",
    "POLICIES",
    "ActionChunk",
    "BatchedPolicy",
    "Batching",
    "ForeignCheckpoint",
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
    "as_policy",
    "make_policy",
    "open_policy",
    "playable",
    "policy_id",
]
