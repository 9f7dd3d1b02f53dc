"""How Weights & Biases is reached, or not: decided before anything starts, and forgiven afterwards."""

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

# If W&B does not answer: how long the beginning is kept waiting, and how long the end is.
INIT_TIMEOUT_S = 30.0
FINISH_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Connection:
    """The package, and whether it is online."""

    wandb: Any
    mode: str

    def settings(self) -> Any:
        """Quiet, patient for a while, and without what is nobody's business."""
        known = self.wandb.Settings.__annotations__
        timeout = {"finish_timeout": FINISH_TIMEOUT_S, "finish_timeout_raises": True}
        return self.wandb.Settings(
            silent=True,
            console="off",  # what the terminal shows is drawn, and no log
            init_timeout=INIT_TIMEOUT_S,
            save_code=False,
            x_disable_meta=True,  # it would send the command with its keys; the manifest has it without
            **{name: value for name, value in timeout.items() if name in known},
        )

    def located(self, tracking: TrackingRecord, run: Any) -> TrackingRecord:
        """The same with where the run is to be found."""
        if self.mode == OFFLINE:
            return replace(tracking, files=run.settings.sync_dir)
        return replace(tracking, url=run.url)


def connect(options: WandbOptions) -> Connection | None:
    """As chosen. Says before anything starts if the package is missing, or nobody is logged in."""
    mode = options.chosen_mode() if options.enable else DISABLED
    if mode == DISABLED:
        return None
    wandb = import_wandb()
    if mode == ONLINE and not is_logged_in(wandb):
        raise UsageError(
            "--wandb.enable=true: nobody is logged in to Weights & Biases; run `wandb login`, set WANDB_API_KEY, "
            "or add --wandb.mode=offline"
        )
    if mode == ONLINE and not can_be_reached(wandb):
        # It would try for half a minute at the start, and at the end until somebody stops it.
        log.warning("Weights & Biases cannot be reached; tracking offline, and `wandb sync` uploads it later")
        mode = OFFLINE
    return Connection(wandb, mode)


class FaultTolerance:
    """Says once that something failed, and goes on: what is tracked is worth more than its tracking."""

    def __init__(self, what_goes_on: str) -> None:
        self._what_goes_on = what_goes_on
        self.failed = False

    @contextlib.contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Around what may fail; `what` is said of it then."""
        try:
            yield
        except Exception as error:
            if not self.failed:
                log.warning("Weights & Biases %s (%s); the %s goes on", what, one_line(error), self._what_goes_on)
            self.failed = True
