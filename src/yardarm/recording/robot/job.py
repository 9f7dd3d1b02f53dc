"""What the encoder's process is told when it starts, and what the two say to each other, line by line.

loop's process                          encoder's process
{the job}                        ──▶
                                 ◀──    {"ready": episodes in the dataset}
tick                             ──▶    reads a tick from the spool, encodes
                                 ◀──    {"encoded": ticks so far}
save / discard / remove          ──▶    ends the episode / drops it / removes the one saved last
                                 ◀──    {"saved": {…}}  {"removed": number}
finish                           ──▶
                                 ◀──    {"finished": true}, or at any time {"fault": "one line"}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yardarm.datasets import DatasetInfo, VideoEncoding
from yardarm.recording.robot.tick_layout import TickLayout

__all__ = ["DISCARD", "FINISH", "IMAGES", "REMOVE", "SAVE", "TICK", "EncoderJob", "SavedEpisode"]

# What a camera's feature is called, before its name.
IMAGES = "observation.images."
TICK, SAVE, DISCARD, REMOVE, FINISH = "tick", "save", "discard", "remove", "finish"


@dataclass(frozen=True, slots=True)
class EncoderJob:
    """A dataset to be written: new, or one to append to."""

    root: Path
    info: DatasetInfo
    encoding: VideoEncoding
    layout: TickLayout
    task: str
    resume: bool = False
    owner: int = 0
    """The process that fills the spool."""

    def to_json(self) -> dict[str, Any]:
        """The job as plain data."""
        return {
            "root": str(self.root),
            "info": self.info.to_json(),
            "encoding": {**asdict(self.encoding), "extra_options": dict(self.encoding.extra_options)},
            "layout": self.layout.to_json(),
            "task": self.task,
            "resume": self.resume,
            "owner": self.owner,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EncoderJob:
        """The job from plain data."""
        return cls(
            root=Path(data["root"]),
            info=DatasetInfo.from_json(data["info"]),
            encoding=VideoEncoding(**data["encoding"]),
            layout=TickLayout.from_json(data["layout"]),
            task=data["task"],
            resume=data["resume"],
            owner=data["owner"],
        )


@dataclass(frozen=True, slots=True)
class SavedEpisode:
    """An episode that is in the dataset."""

    index: int
    frames: int
    size: int
    """How much the dataset grew, in bytes."""
