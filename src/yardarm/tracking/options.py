"""The ``--wandb.`` flags: the same names, meanings and defaults as LeRobot's."""

from __future__ import annotations

import os
from dataclasses import dataclass

from yardarm.config import fit_fields, one_of, option
from yardarm.errors import UsageError

__all__ = ["DISABLED", "OFFLINE", "ONLINE", "WandbOptions"]

ONLINE, OFFLINE, DISABLED = "online", "offline", "disabled"
MODES = (ONLINE, OFFLINE, DISABLED)
# Characters that W&B does not allow in a project's name or a run's id.
FORBIDDEN = "/\\#?%:"
LONGEST_NAME = 128


@dataclass
class WandbOptions:
    """The ``--wandb.`` flags."""

    enable: bool = option(False, "track the run with Weights & Biases (needs: pip install 'yardarm[wandb]')")
    disable_artifact: bool = option(False, "do not upload the run's files as an artifact")
    project: str = option("lerobot", "the W&B project")
    entity: str | None = option(None, "the user or team that owns the project")
    notes: str | None = option(None, "a description of the run")
    run_id: str | None = option(None, "the run's W&B id [its id from earlier sessions, or a new one]")
    mode: str | None = option(
        None, "online, offline (`wandb sync` uploads it later) or disabled [WANDB_MODE, or online]"
    )
    add_tags: bool = option(True, "tag the run with its policy, benchmarks and method")

    def __post_init__(self) -> None:
        fit_fields(self, "--wandb.")
        if self.mode is not None:
            one_of("--wandb.mode", self.mode, MODES)
        for name in ("project", "run_id"):
            value = getattr(self, name)
            if value is not None:
                _check_name(f"--wandb.{name}", value)

    def chosen_mode(self) -> str:
        """Online, offline or disabled: from the flag, or from wandb's environment variable."""
        from_environment = os.environ.get("WANDB_MODE") or ONLINE
        if self.mode is None:
            one_of("WANDB_MODE", from_environment, MODES)
        return self.mode or from_environment


def _check_name(flag: str, value: str) -> None:
    if not value.strip() or len(value) > LONGEST_NAME or any(letter in FORBIDDEN for letter in value):
        raise UsageError(
            f"{flag} must have 1 to {LONGEST_NAME} characters, and none of {' '.join(FORBIDDEN)}, "
            f"got '{value[:LONGEST_NAME]}'"
        )
