"""Trained policies that come with the package, so that there is something learned to evaluate at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["metaworld_smolvla", "mt10_act"]


def mt10_act(**options: Any) -> LearnedPolicy:
    """An ACT for Meta-World's MT10, from its 39 raw values: recipes/metaworld_states.sh trained it."""
    return _load("mt10_act", options)


def metaworld_smolvla(**options: Any) -> LearnedPolicy:
    """A SmolVLA for four tasks that only their instructions tell apart: recipes/metaworld_language.sh trained it."""
    return _load("metaworld_smolvla", options)


def _load(name: str, options: dict[str, Any]) -> LearnedPolicy:
    from yardarm.policies.learned.loading import load_policy

    return load_policy(Path(__file__).parent / name, **options)
