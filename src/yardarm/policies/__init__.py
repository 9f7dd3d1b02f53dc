"""Policies: the protocol they follow, the built-in ones, and how they are loaded and named."""

from yardarm.policies.chunks import PlayableChunk, playable
from yardarm.policies.loading import POLICIES, LoadedPolicy, PolicySpec, load_policy, make_policy
from yardarm.policies.protocol import ActionChunk, Look, ObservationSpec, Policy, Request

__all__ = [
    "POLICIES",
    "ActionChunk",
    "LoadedPolicy",
    "Look",
    "ObservationSpec",
    "PlayableChunk",
    "Policy",
    "PolicySpec",
    "Request",
    "load_policy",
    "make_policy",
    "playable",
]
