"""SmolVLA: a small language model with eyes, and an expert beside it that acts (Shukor et al., 2025)."""

from yardarm.policies.smolvla.architecture import SMOLVLA
from yardarm.policies.smolvla.config import SmolVlaConfig

__all__ = ["SMOLVLA", "SmolVlaConfig"]
