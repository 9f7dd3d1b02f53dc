"""What to record on a robot, and how: LeRobot's flags below ``--dataset.``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from yardarm.config import fit_fields, option, positive
from yardarm.datasets import VideoEncoding, default_root
from yardarm.errors import UsageError
from yardarm.recording.config import Target

__all__ = ["RobotDatasetOptions"]

ENCODING = VideoEncoding()
RESERVED = "eval_"


@dataclass
class RobotDatasetOptions:
    """Flags below ``--dataset.`` of a recording on a robot."""

    single_task: str = option("", "what is done, in words, as a policy will be told: pick up the cube")
    repo_id: str | None = option(
        None, "owner/name, to which the date and time are added; the folder is $HF_LEROBOT_HOME/owner/name_date_time"
    )
    root: Path | None = option(None, "the dataset's folder, whatever its name")
    no_stamp: bool = option(False, "add no date and time to the name")
    fps: int = option(30, "how often the arm is read and moved, and a frame recorded, per second")
    num_episodes: int = option(50, "how many episodes to record; with --resume, how many more")
    episode_time_s: float = option(60.0, "how long an episode may take; a key ends it earlier")
    reset_time_s: float = option(60.0, "how long there is between episodes to put things back; a key ends it earlier")
    video: bool = option(True, "false: store images as PNGs in the table, exact but large")
    vcodec: str = option(ENCODING.vcodec, "for videos: libsvtav1, h264 or hevc")
    crf: int = option(ENCODING.crf, "for videos: quality from 0 (best, largest) to 63 (51 for h264 and hevc)")
    g: int = option(ENCODING.g, "for videos: frames between key frames; more make files smaller and seeking slower")
    preset: str | int = option("", "for videos: the codec's name for its speed [12, veryfast]")
    pix_fmt: str = option(ENCODING.pix_fmt, "for videos: yuv420p or yuv444p")
    push_to_hub: bool = option(False, "at the end, upload the dataset to --dataset.repo_id")
    private: bool = option(False, "make the uploaded dataset private")
    tags: list[str] | None = option(None, "tags of the uploaded dataset, like [arm,cube]")

    def __post_init__(self) -> None:
        fit_fields(self, "--dataset.")
        for name in ("fps", "num_episodes", "episode_time_s"):
            positive(f"--dataset.{name}", getattr(self, name))
        if self.reset_time_s < 0:
            raise UsageError(f"--dataset.reset_time_s must not be negative, got {self.reset_time_s:g}")
        if not self.single_task.strip():
            raise UsageError(
                'what is done? A policy is told so in words: --dataset.single_task="put the cube into the box"'
            )
        if self.repo_id is None and self.root is None:
            raise UsageError("--dataset.repo_id=owner/name is missing (or --dataset.root=FOLDER)")
        self._check_name()
        for name in ("private", "tags"):
            if getattr(self, name) and not self.push_to_hub:
                raise UsageError(f"--dataset.{name} is for a dataset that is uploaded: add --dataset.push_to_hub=true")
        self.encoding  # noqa: B018  # a mistake is reported now

    def _check_name(self) -> None:
        if self.push_to_hub and self.repo_id is None:
            raise UsageError("--dataset.push_to_hub needs a name on the Hub: add --dataset.repo_id=owner/name")
        if self.repo_id is not None:
            default_root(self.repo_id)  # raises if it is no name
            if self.repo_id.partition("/")[2].startswith(RESERVED):
                raise UsageError(
                    f"--dataset.repo_id={self.repo_id}: names that begin with {RESERVED} are for evaluations of "
                    "policies; choose another"
                )

    def target(self, resume: bool) -> Target:
        """Where the dataset goes: a new one has the date and time in its name, unless told otherwise."""
        name = self.repo_id
        if name is not None and not resume and not self.no_stamp:
            name = f"{name}_{time.strftime('%Y%m%d_%H%M%S')}"
        root = self.root.expanduser() if self.root else default_root(name or "")
        return Target(root.absolute(), name, self.push_to_hub, self.private, tuple(self.tags or ()))

    @property
    def encoding(self) -> VideoEncoding:
        """How videos are encoded."""
        return VideoEncoding(self.vcodec, self.pix_fmt, self.g, self.crf, str(self.preset))
