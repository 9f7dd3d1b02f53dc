"""Keeps a training's record: the learning curve, and the manifest, which says how far it got."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.errors import StorageFault
from yardarm.files import write_json
from yardarm.results import Curve, TrainingFolder, TrainingManifest, now, provenance
from yardarm.tracking import TrainingTracker
from yardarm.training.trainer import TrainingStep

__all__ = ["StepMeter", "TrainingLog"]

WRITE_EVERY_S = 10.0


class TrainingLog:
    """The curve and the manifest of one training, held by one process at a time."""

    def __init__(self, folder: TrainingFolder, manifest: TrainingManifest, tracker: TrainingTracker) -> None:
        """`manifest` says what is trained, and at which step that begins or is resumed."""
        self.curve = Curve(folder.journal, upto=manifest.step)
        self._folder = folder
        self._manifest = replace(manifest, started=now(), sessions=(provenance(),))
        if folder.manifest.exists():
            self._manifest = _resumed(folder.read_manifest(), self._manifest)
        self._earlier_s = self._manifest.wall_s
        self._opened = time.monotonic()
        self._tracker = tracker
        tracking = tracker.begin(folder.path, manifest.config, self._manifest.tracking)
        self._manifest = replace(self._manifest, tracking=tracking)
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
        self._manifest = replace(self._manifest, step=step)
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
        *earlier, newest = self._manifest.sessions
        sessions = (*earlier, replace(newest, updated=now()))
        self._manifest = replace(self._manifest, status=status, updated=now(), wall_s=self.wall_s, sessions=sessions)
        write_json(self._folder.manifest, self._manifest.to_json())


def _resumed(stored: TrainingManifest, manifest: TrainingManifest) -> TrainingManifest:
    """With what earlier sessions left; its policy came from where the training began, not from where it was resumed."""
    return replace(
        manifest,
        started=stored.started,
        wall_s=stored.wall_s,
        policy=manifest.policy.loaded_from(stored.policy.path),
        tracking=stored.tracking,
        sessions=(*stored.sessions, *manifest.sessions),
        extra=stored.extra,
    )


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
