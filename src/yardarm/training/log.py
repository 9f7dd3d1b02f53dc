"""Keeps a training's record: the learning curve, and the manifest, which says how far it got."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yardarm.errors import StorageFault
from yardarm.files import write_json
from yardarm.results import TRAINING_FORMAT, Curve, TrainingFolder, now, provenance
from yardarm.tracking import TrainingTracker
from yardarm.training.trainer import TrainingStep

__all__ = ["StepMeter", "TrainingLog"]

WRITE_EVERY_S = 10.0
# What earlier sessions were made with.
SESSION = ("command", "versions", "environment_variables", "machine", "git_commit", "updated")


class TrainingLog:
    """The curve and the manifest of one training, held by one process at a time."""

    def __init__(self, folder: TrainingFolder, about: Mapping[str, Any], step: int, tracker: TrainingTracker) -> None:
        self.curve = Curve(folder.journal, upto=step)
        self._folder = folder
        known: dict[str, Any] = folder.read_manifest() if folder.manifest.exists() else {"started": now()}
        self._earlier_s = float(known.get("wall_s", 0.0))
        self._opened = time.monotonic()
        if "policy" in known:  # where it started, not where it was resumed
            about = {**about, "policy": {**about["policy"], "path": known["policy"].get("path")}}
            known.setdefault("sessions", []).append({name: known.get(name) for name in SESSION})
        self._content: dict[str, Any] = {**known, **provenance(), **about, "format": TRAINING_FORMAT, "step": step}
        self._tracker = tracker
        self._content["wandb"] = tracker.begin(folder.path, about["config"], known.get("wandb", {}))
        self._write("running")

    @property
    def wall_s(self) -> float:
        """Seconds that the training has taken, over all its sessions."""
        return self._earlier_s + time.monotonic() - self._opened

    def add(self, point: Mapping[str, Any]) -> None:
        """A point of the curve."""
        self.curve.append(point)
        self._tracker.point(point)

    def stepped(self, step: int) -> None:
        """Say now and then how far it is."""
        self._content["step"] = step
        if time.monotonic() - self._written > WRITE_EVERY_S:
            self._write("running")

    def close(self, finished: bool, checkpoint: Path | None) -> None:
        """The training has ended, at its last step or before; say what was deleted meanwhile."""
        lost = self.curve.restore()
        self._write("finished" if finished else "interrupted")
        self.curve.sync()
        self.curve.close()
        self._tracker.finish(finished, checkpoint)
        if lost and finished:
            raise StorageFault(
                f"{lost} during the training; its learning curve was written again, and the newest weights are "
                f"{checkpoint or 'not saved'}: earlier checkpoints and evaluations may be lost"
            )

    def _write(self, status: str) -> None:
        self._written = time.monotonic()
        self._content.update(status=status, updated=now(), wall_s=self.wall_s)
        write_json(self._folder.manifest, self._content)


class StepMeter:
    """Sums up the steps between two points of the curve."""

    def __init__(self) -> None:
        self._steps: list[TrainingStep] = []

    def add(self, step: TrainingStep) -> None:
        """Count a step."""
        self._steps.append(step)

    def point(self, step: int, per_epoch: float, elapsed_s: float) -> dict[str, Any]:
        """The mean of what was counted; the count starts again."""
        steps = self._steps
        count, samples = len(steps), sum(own.samples for own in steps)
        seconds = sum(own.data_s + own.update_s for own in steps)  # and not what was measured or saved in between
        parts = {name: float(sum(own.losses[name] for own in steps)) / count for name in steps[-1].losses}
        loss = parts.pop("loss")
        self._steps = []
        return {
            "kind": "train",
            "step": step,
            "loss": loss,
            "parts": parts,
            "grad_norm": float(sum(own.grad_norm for own in steps)) / count,
            "lr": steps[-1].lr,
            "epoch": round(step / per_epoch, 4),
            "samples": samples,
            "samples_per_s": round(samples / seconds, 2),
            "data_s": round(sum(own.data_s for own in steps) / count, 6),
            "update_s": round(sum(own.update_s for own in steps) / count, 6),
            "elapsed_s": round(elapsed_s, 2),
        }
