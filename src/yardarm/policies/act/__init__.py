"""ACT: action chunking with transformers (Zhao et al., 2023)."""

from yardarm.policies.act.architecture import ACT
from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.policy import ActPolicy

__all__ = ["ACT", "ActConfig", "ActPolicy"]
