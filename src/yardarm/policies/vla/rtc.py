"""Real-time chunking: what is left of the last chunk guides the next one."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import one_of
from yardarm.policies.vla.flow import SCHEDULES

__all__ = ["RtcOptions"]


@dataclass
class RtcOptions:
    """LeRobot's options, by its names."""

    enabled: bool = True
    prefix_attention_schedule: str = "linear"
    max_guidance_weight: float = 10.0
    execution_horizon: int = 10
    debug: bool = False
    debug_maxlen: int = 100

    def check(self) -> None:
        """Refuse what cannot work."""
        one_of("rtc_config.prefix_attention_schedule", self.prefix_attention_schedule.lower(), SCHEDULES)
