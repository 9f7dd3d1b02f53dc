"""π0.5: as π0, but time reaches the expert by its norms, and the state is a part of the prompt (2025)."""

from yardarm.policies.pi05.architecture import PI05
from yardarm.policies.pi05.config import Pi05Config

__all__ = ["PI05", "Pi05Config"]
