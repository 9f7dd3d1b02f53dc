"""What to record, and how: the flags of ``yardarm record``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from yardarm.config import decode, fit_fields, one_of, option, positive
from yardarm.datasets import VideoEncoding, default_root
from yardarm.errors import UsageError, nearest
from yardarm.evaluation import EvalConfig, EvalOptions, config_from_data
from yardarm.hub import HUB_ID
from yardarm.recording.labels import PLAYED_ACTION

__all__ = ["ALL", "PASSED_ON", "STATES", "RecordConfig", "RecordDatasetOptions", "RecordOptions", "Target"]

COMMAND = "record"
# What means the same as for `yardarm eval`.
PASSED_ON = (
    "policy",
    "env",
    "seed",
    "output_dir",
    "job_name",
    "rename_map",
    "trust_remote_code",
    "allow_mixed_versions",
)
MOST_EPISODES = 10_000
MOST_WORKERS = 64
ALL = "all"
STATES = "states"
EXPERT = "expert"
SIZE = re.compile(r"(\d+)(?:x(\d+))?")
SMALLEST, LARGEST = 16, 4096
ENCODING = VideoEncoding()


@dataclass(frozen=True, slots=True)
class Target:
    """Where a dataset goes: a folder, and the Hub if it is pushed there."""

    root: Path
    repo_id: str | None = None
    push: bool = False
    private: bool = False
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.repo_id is not None and not HUB_ID.fullmatch(self.repo_id):
            raise UsageError(f"'{self.repo_id}' is not the name of a dataset: it must be owner/name")


@dataclass
class RecordDatasetOptions:
    """Flags below ``--dataset.``."""

    root: Path | None = option(None, "the dataset's folder; if this command started it, the recording is resumed")
    repo_id: str | None = option(
        None, "owner/name on the Hub; without --dataset.root, the folder is $HF_LEROBOT_HOME/owner/name"
    )
    features: str = option(
        ALL, "the observations: all, states (those that need no rendering), or names separated by commas"
    )
    labels: str = option(
        "",
        "expert: the actions are what the expert would have done in each state; those that were played become "
        f"{PLAYED_ACTION} [what was played]",
    )
    image_size: str | int = option("", "HEIGHTxWIDTH of the images, or one number for both [the environment's size]")
    video: bool = option(True, "false: store images as PNGs in the table, exact but large")
    vcodec: str = option(ENCODING.vcodec, "for videos: libsvtav1, h264 or hevc")
    crf: int = option(ENCODING.crf, "for videos: quality from 0 (best, largest) to 63 (51 for h264 and hevc)")
    g: int = option(ENCODING.g, "for videos: frames between key frames; more make files smaller and seeking slower")
    push_to_hub: bool = option(False, "at the end, upload the dataset to --dataset.repo_id")
    private: bool = option(False, "make the uploaded dataset private")
    tags: list[str] | None = option(None, "tags of the uploaded dataset, like [sim,expert]")

    def __post_init__(self) -> None:
        fit_fields(self, "--dataset.")
        one_of("--dataset.labels", self.labels, ("", EXPERT))
        if self.push_to_hub and self.repo_id is None:
            raise UsageError("--dataset.push_to_hub needs a name on the Hub: add --dataset.repo_id=owner/name")
        if self.private and not self.push_to_hub:
            raise UsageError("--dataset.private is for a dataset that is uploaded: add --dataset.push_to_hub=true")
        if self.tags and not self.push_to_hub:
            raise UsageError("--dataset.tags are for a dataset that is uploaded: add --dataset.push_to_hub=true")
        self.size  # noqa: B018  # a mistake is reported now
        self.encoding  # noqa: B018

    @property
    def target(self) -> Target:
        """Where the dataset goes."""
        if self.root is None and self.repo_id is None:
            raise UsageError("--dataset.root=FOLDER is missing (or --dataset.repo_id=owner/name)")
        root = self.root.expanduser() if self.root else default_root(self.repo_id or "")
        return Target(root.absolute(), self.repo_id, self.push_to_hub, self.private, tuple(self.tags or ()))

    @property
    def encoding(self) -> VideoEncoding:
        """How videos are encoded."""
        return VideoEncoding(vcodec=self.vcodec, crf=self.crf, g=self.g)

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width of the images, if they differ from what the policy sees."""
        if not self.image_size:
            return None
        match = SIZE.fullmatch(str(self.image_size))
        sides = [int(side or match[1]) for side in match.groups()] if match else []
        if not sides or not all(SMALLEST <= side <= LARGEST for side in sides):
            raise UsageError(
                f"--dataset.image_size must be HEIGHTxWIDTH or one number, each between {SMALLEST} and {LARGEST}, "
                f"like 96 or 96x128; got '{self.image_size}'"
            )
        return sides[0], sides[1]


@dataclass
class RecordOptions:
    """Flags of ``yardarm record`` without a section."""

    n_episodes: int = option(50, "episodes of each task")
    only_successes: bool = option(
        False, "record only successes: n_episodes of each task, from at most 10 times as many played"
    )
    workers: int = option(0, "how many episodes run at once, at most 64; 0: chosen for this machine")

    def __post_init__(self) -> None:
        fit_fields(self, "--")
        positive("--n_episodes", self.n_episodes)
        if self.n_episodes > MOST_EPISODES:
            raise UsageError(f"--n_episodes must be at most {MOST_EPISODES:,} a task, got {self.n_episodes}")
        if not 0 <= self.workers <= MOST_WORKERS:
            raise UsageError(f"--workers must lie between 0 (fit to this machine) and {MOST_WORKERS}")

    @property
    def evaluation(self) -> EvalOptions:
        """The options of the evaluation that plays the episodes."""
        return EvalOptions(n_episodes=self.n_episodes, batch_size=self.workers)


@dataclass
class RecordConfig:
    """A recording: an evaluation whose episodes become a dataset."""

    evaluation: EvalConfig
    options: RecordOptions
    dataset: RecordDatasetOptions

    def __post_init__(self) -> None:
        run = self.evaluation.output_dir
        if run is not None and run.absolute() == self.dataset.target.root:
            raise UsageError(f"--dataset.root and --output_dir are both {run}; a run and a dataset need a folder each")

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> RecordConfig:
        """Check names and types, and build the configuration."""
        own = [entry.name for entry in fields(RecordOptions)]
        known = (*own, *PASSED_ON, "dataset")
        for name in data:
            if name not in known:
                raise UsageError(
                    f"unknown option '--{name}'{nearest(name, known)} `yardarm {COMMAND} --help` lists all"
                )
        if not isinstance(data.get("dataset", {}), Mapping):
            raise UsageError("'dataset' must be a section of its own: --dataset.root=…")
        options = decode(RecordOptions, "", {name: data[name] for name in own if name in data}, COMMAND)
        evaluation = {
            **{name: data[name] for name in PASSED_ON if name in data},
            "eval": asdict(options.evaluation),
            "resume": True,  # the same command resumes its own run
        }
        dataset = decode(RecordDatasetOptions, "dataset", data.get("dataset", {}), COMMAND)
        return cls(config_from_data(evaluation), options, dataset)
