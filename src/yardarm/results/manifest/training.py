"""The record of a training: what is trained, what each session was made with, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yardarm.results.manifest.codec import Count, Record
from yardarm.results.manifest.formats import numbered, read_any_format
from yardarm.results.manifest.run import TrackingRecord
from yardarm.results.manifest.session import PolicyRecord, SessionRecord

__all__ = ["DatasetRecord", "TrainingManifest"]


@dataclass(frozen=True, slots=True)
class DatasetRecord(Record):
    """The dataset that a training learns from."""

    name: str
    root: str | None = None
    """Its folder."""
    episodes: Count | None = None
    """Those that are trained on."""
    held_out: Count | None = None
    """Episodes that are kept for validation."""
    frames: Count | None = None
    """Of the episodes that are trained on."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrainingManifest(Record):
    """All of `training.json`."""

    policy: PolicyRecord
    """Its path is where the training began."""
    dataset: DatasetRecord
    steps: Count
    """How many steps it is to have."""
    step: Count = 0
    """How many steps are done."""
    status: str = "interrupted"
    """`running`, `finished` or `interrupted`. A killed process leaves `running` behind."""
    started: str | None = None
    updated: str | None = None
    """When the file was last written."""
    wall_s: float = 0.0
    """Seconds, over all sessions."""
    threads: Count | None = None
    """Torch's threads, on which the last bits of sums depend."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The resolved configuration; `--config_path` takes it."""
    tracking: TrackingRecord | None = None
    sessions: tuple[SessionRecord, ...] = ()
    """The newest last."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def newest(self) -> SessionRecord:
        """The newest session; an empty one before the first begins."""
        return self.sessions[-1] if self.sessions else SessionRecord()

    def to_json(self) -> dict[str, Any]:
        """What `training.json` holds."""
        return numbered(Record.to_json(self))

    @classmethod
    def from_json(cls, content: Any, place: str = "") -> TrainingManifest:
        """Read any format."""
        return cls(**read_any_format(cls, content, place))
