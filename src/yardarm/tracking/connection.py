"""The connection to Weights & Biases: checked before anything starts; later failures are only warnings."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from yardarm.errors import UsageError, one_line
from yardarm.results import TrackingRecord
from yardarm.tracking.options import DISABLED, OFFLINE, ONLINE, WandbOptions
from yardarm.tracking.package import can_be_reached, import_wandb, is_logged_in

__all__ = ["Connection", "FaultTolerance", "connect"]

log = logging.getLogger(__name__)

# How long to wait for W&B at the start, and at the end.
INIT_TIMEOUT_S = 30.0
FINISH_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Connection:
    """The wandb package, and its mode: online or offline."""

    wandb: Any
    mode: str

    def settings(self) -> Any:
        """Settings for wandb: quiet, with timeouts, and without private data."""
        known = self.wandb.Settings.__annotations__
        timeout = {"finish_timeout": FINISH_TIMEOUT_S, "finish_timeout_raises": True}
        return self.wandb.Settings(
            silent=True,
            console="off",  # the terminal shows progress bars, not a log
            init_timeout=INIT_TIMEOUT_S,
            save_code=False,
            x_disable_meta=True,  # it would send the command including API keys; the manifest has it without them
            **{name: value for name, value in timeout.items() if name in known},
        )

    def located(self, tracking: TrackingRecord, run: Any) -> TrackingRecord:
        """Where to find a run: its URL, or its folder if offline."""
        if self.mode == OFFLINE:
            return replace(tracking, files=run.settings.sync_dir)
        return replace(tracking, url=run.url)


def connect(options: WandbOptions) -> Connection | None:
    """The connection, or None if tracking is off; an error if wandb is not installed or not logged in."""
    mode = options.chosen_mode() if options.enable else DISABLED
    if mode == DISABLED:
        return None
    wandb = import_wandb()
    if mode == ONLINE and not is_logged_in(wandb):
        raise UsageError(
            "--wandb.enable=true: not logged in to Weights & Biases; run `wandb login`, set WANDB_API_KEY, "
            "or add --wandb.mode=offline"
        )
    if mode == ONLINE and not can_be_reached(wandb):
        # Online, wandb would retry for half a minute at the start, and without end at the end.
        log.warning("Weights & Biases cannot be reached; tracking offline (`wandb sync` uploads it later)")
        mode = OFFLINE
    return Connection(wandb, mode)


class FaultTolerance:
    """Turns failures of tracking into one warning, because a run matters more than its tracking."""

    def __init__(self, tracked: str) -> None:
        self._tracked = tracked
        self.failed = False

    @contextlib.contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Wrap calls that may fail; `what` describes the failure."""
        try:
            yield
        except Exception as error:
            if not self.failed:
                log.warning("Weights & Biases %s (%s); the %s continues", what, one_line(error), self._tracked)
            self.failed = True
