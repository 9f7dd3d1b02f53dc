"""Takes objects that are written for LeRobot's interface. It needs no torch itself: workers import it, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yardarm.errors import UsageError

__all__ = ["adapted", "is_for_lerobot"]


def is_for_lerobot(policy: Any) -> bool:
    """Whether it has LeRobot's methods, and does not follow Yardarm's protocol."""
    own = hasattr(policy, "infer") and hasattr(policy, "wants")
    return not own and (hasattr(policy, "select_action") or hasattr(policy, "predict_action_chunk"))


def adapted(policy: Any, inputs: Sequence[str] = ()) -> Any:
    """The policy, behind an adapter if it is for LeRobot's interface; then it reads `inputs`, if some are given."""
    if not is_for_lerobot(policy):
        return policy
    missing = [name for name in ("select_action", "reset") if not hasattr(policy, name)]
    if missing:
        raise UsageError(
            f"{type(policy).__name__} has no {' and no '.join(missing)}: a policy for LeRobot's interface needs "
            "select_action(batch), which answers with the next action, and reset(), which starts an episode"
        )
    from yardarm.policies.plain.select_action import SelectActionPolicy

    return SelectActionPolicy(policy, inputs)
