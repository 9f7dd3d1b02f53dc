"""The flags below ``--wandb.``: LeRobot's, with the same names, meanings and defaults."""

from __future__ import annotations

import os
from dataclasses import dataclass

from yardarm.config import one_of, option
from yardarm.errors import UsageError

__all__ = ["DISABLED", "OFFLINE", "ONLINE", "WandbOptions"]

ONLINE, OFFLINE, DISABLED = "online", "offline", "disabled"
MODES = (ONLINE, OFFLINE, DISABLED)
# What W&B refuses in a project's name and in a run's id.
FORBIDDEN = "/\\#?%:"
LONGEST_NAME = 128


@dataclass
class WandbOptions:
    """Flags below ``--wandb.``."""

    enable: bool = option(False, "track the run with Weights & Biases: pip install 'yardarm[wandb]'")
    disable_artifact: bool = option(False, "true: do not store the run's files there as an artifact")
    project: str = option("lerobot", "the project, by default the same as LeRobot's")
    entity: str | None = option(None, "the user or team that the project belongs to")
    notes: str | None = option(None, "what to remember of the run")
    run_id: str | None = option(None, "the run's id there [the one that the run has already, or a new one]")
    mode: str | None = option(
        None, "online, offline (`wandb sync` uploads it later) or disabled [WANDB_MODE, or else online]"
    )
    add_tags: bool = option(True, "tag the run with its policy, benchmarks and method")

    def __post_init__(self) -> None:
        if self.mode is not None:
            one_of("--wandb.mode", self.mode, MODES)
        for name in ("project", "run_id"):
            value = getattr(self, name)
            if value is not None:
                _check_name(f"--wandb.{name}", value)

    def chosen_mode(self) -> str:
        """Online, offline or disabled: as the flag says, or else what wandb's own variable says."""
        from_outside = os.environ.get("WANDB_MODE") or ONLINE
        if self.mode is None:
            one_of("WANDB_MODE", from_outside, MODES)
        return self.mode or from_outside


def _check_name(flag: str, value: str) -> None:
    if not value.strip() or len(value) > LONGEST_NAME or any(letter in FORBIDDEN for letter in value):
        raise UsageError(
            f"{flag} must have 1 to {LONGEST_NAME} characters, and none of {' '.join(FORBIDDEN)}, "
            f"got '{value[:LONGEST_NAME]}'"
        )
