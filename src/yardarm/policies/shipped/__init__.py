"""A trained policy that comes with the package, so that there is something learned to evaluate at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["mt10_act"]


def mt10_act(**options: Any) -> LearnedPolicy:
    """An ACT for Meta-World's MT10, from its 39 raw values: recipes/metaworld_states.sh trained it."""
    from yardarm.policies.learned.loading import load_policy

    return load_policy(Path(__file__).parent / "mt10_act", **options)
