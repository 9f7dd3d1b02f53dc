"""The architecture of docs/adding-an-architecture.md: it reads the state and the instruction."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tests.checkpoints import random_policy
from tests.test_guides import ARCHITECTURE, files_of
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learning import Architecture, FeatureType, PolicyFeature

NAME = "tiny_policy_of_the_guide"


def _guide() -> ModuleType:
    module = ModuleType(NAME)
    sys.modules[NAME] = module  # dataclasses look their module up
    exec(compile(files_of(ARCHITECTURE)["tiny_policy.py"], NAME, "exec"), module.__dict__)
    return module


GUIDE = _guide()
TINY: Architecture = GUIDE.TINY
WORDS: str = GUIDE.WORDS


def tiny(architecture: Architecture = TINY, state: int = 2, action: int = 1, **options: Any) -> LearnedPolicy:
    """A policy with random weights, for the toy world's shapes."""
    config = GUIDE.TinyConfig(
        input_features={"observation.state": PolicyFeature(FeatureType.STATE, (state,))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (action,))},
        **{"device": "cpu", **options},
    )
    return random_policy(architecture, config)
