"""π0: PaliGemma, and an expert beside it that turns noise into actions (Black et al., 2024)."""

from yardarm.policies.pi0.architecture import PI0
from yardarm.policies.pi0.config import Pi0Config

__all__ = ["PI0", "Pi0Config"]
