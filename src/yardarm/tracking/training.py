"""Tracks a training with Weights & Biases: its curve, its evaluations, its last checkpoint."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yardarm.results import TrackingRecord
from yardarm.tracking.connection import Connection, FaultTolerance, connect
from yardarm.tracking.options import WandbOptions
from yardarm.tracking.package import without_prompts

__all__ = ["TrainingTracker", "open_training_tracker"]

# Fields of a point that identify it, rather than being values to log.
NOT_VALUES = ("kind", "step", "status", "run", "path", "problem", "tasks", "parts", "confidence")


def open_training_tracker(options: WandbOptions) -> TrainingTracker:
    """The tracker that the options ask for; an error if wandb is not installed or not logged in."""
    connection = connect(options)
    return TrainingTracker() if connection is None else WandbTrainingTracker(options, connection)


class TrainingTracker:
    """The interface between a training and a tracker. The base class does nothing."""

    def begin(self, folder: Path, config: Mapping[str, Any], known: TrackingRecord | None) -> TrackingRecord | None:
        """Called before the first step; returns what to remember, which is `known` when the training resumes."""
        return known

    def point(self, point: Mapping[str, Any]) -> None:
        """Called for a new point of the learning curve."""

    def finish(self, finished: bool, checkpoint: Path | None) -> None:
        """Called when the training has ended, at its last step or before."""


class WandbTrainingTracker(TrainingTracker):
    """A run at Weights & Biases, which a resumed training continues."""

    def __init__(self, options: WandbOptions, connection: Connection) -> None:
        self._options, self._connection = options, connection
        self._run: Any = None
        self._id = ""
        self._tolerating = FaultTolerance("training")

    def begin(self, folder: Path, config: Mapping[str, Any], known: TrackingRecord | None) -> TrackingRecord | None:
        """Start the W&B run, or resume it."""
        options = self._options
        self._id = options.run_id or (known and known.id) or secrets.token_hex(4)
        tracking = TrackingRecord(self._id, options.project)
        tags = [f"policy:{config['policy'].get('type')}", f"dataset:{config['dataset'].get('repo_id')}"]
        with self._tolerating("could not be started"), without_prompts():
            self._run = self._connection.wandb.init(
                project=options.project,
                entity=options.entity,
                notes=options.notes,
                tags=[tag[:64] for tag in tags] if options.add_tags else None,
                name=config.get("job_name") or folder.absolute().name,
                config=dict(config),
                dir=str(folder.absolute()),
                job_type="train",
                id=self._id,
                mode=self._connection.mode,
                resume="allow",
                allow_val_change=True,
                reinit="create_new",
                settings=self._connection.settings(),
            )
            # Evaluations finish later than the steps they belong to.
            self._run.define_metric("*", step_metric="step")
            return self._connection.located(tracking, self._run)
        return tracking

    def point(self, point: Mapping[str, Any]) -> None:
        """Log a point's numbers, named by its kind, like LeRobot's `train/loss`."""
        if self._run is None or point.get("status") in ("running", "failed") or point["kind"] == "checkpoint":
            return
        kind = {"evaluation": "eval"}.get(point["kind"], point["kind"])
        values = {name: value for name, value in point.items() if name not in NOT_VALUES} | dict(point.get("parts", {}))
        values |= {f"{name}/rate": task["rate"] for name, task in point.get("tasks", {}).items()}
        with self._tolerating("could not log a point"):
            self._run.log({"step": point["step"], **{f"{kind}/{name}": value for name, value in values.items()}})

    def finish(self, finished: bool, checkpoint: Path | None) -> None:
        """Upload the last checkpoint's policy, and close the run."""
        if self._run is None:
            return
        if finished and checkpoint is not None and not self._options.disable_artifact:
            with self._tolerating("could not store the policy"):
                artifact = self._connection.wandb.Artifact(re.sub(r"[^\w.-]", "_", f"policy-{self._id}"), type="model")
                artifact.add_dir(str(checkpoint / "pretrained_model"))
                self._run.log_artifact(artifact)
        with self._tolerating("could not upload everything; `wandb sync` does that later"):
            self._run.finish(exit_code=0 if finished else 1)
        self._run = None
