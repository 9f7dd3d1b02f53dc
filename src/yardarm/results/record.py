"""One finished episode, as stored in the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Literal

from yardarm.contents import quantity
from yardarm.results.manifest.codec import Count, read_fields
from yardarm.tasks import EpisodeTiming

__all__ = ["EpisodeKey", "EpisodeRecord"]

Quantity = Annotated[float, quantity]
"""A number; a reward may be infinite, or none at all."""


@dataclass(frozen=True, slots=True, order=True)
class EpisodeKey:
    """What identifies an episode: episodes with the same key go the same way."""

    policy: str
    benchmark: str
    env: str
    """Hash of the environment's options."""
    task: str
    index: Count
    seed: int

    @property
    def task_key(self) -> tuple[str, str, str]:
        """What identifies the task."""
        return self.benchmark, self.env, self.task


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """An episode's key, how it went, and what it cost."""

    key: EpisodeKey
    status: Literal["success", "failure", "error"]
    """An error is neither a success nor a failure: it says nothing about the policy."""
    steps: Count = 0
    sum_reward: Quantity = 0.0
    max_reward: Quantity = 0.0
    terminated: bool = False
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """Hashes of the physical state, by the number of steps before them."""
    error: str | None = None
    place: Count | None = None
    """Its position in the planned order, if the run may stop early."""
    attempts: Count = 1
    timing: EpisodeTiming = EpisodeTiming()
    """With `attempts` and `place`, the only part that may differ between two runs of the same episode."""

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return self.status == "success"

    def course(self) -> dict[str, Any]:
        """Everything but the costs: equal for equal keys, whatever the batch size or the machine's load and history."""
        return {name: value for name, value in self.to_json().items() if name not in ("place", "attempts", "timing")}

    def to_json(self) -> dict[str, Any]:
        """A flat dictionary of plain values."""
        line = asdict(self.key)
        line.update((item.name, getattr(self, item.name)) for item in fields(self) if item.name != "key")
        line["timing"] = {name: round(seconds, 6) for name, seconds in asdict(self.timing).items()}
        return line

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> EpisodeRecord:
        """Read a line, or raise `ValueError`; ignore fields that a newer version added."""
        key = EpisodeKey(**read_fields(EpisodeKey, line, ""))
        timing = EpisodeTiming(**read_fields(EpisodeTiming, line.get("timing", {}), "timing"))
        return cls(**read_fields(cls, line, "", key=key, timing=timing))
