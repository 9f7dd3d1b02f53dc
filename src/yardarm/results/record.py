"""One finished episode, as stored in the journal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Any, Literal

from yardarm.results.shapes import EPISODE
from yardarm.tasks import EpisodeTiming

__all__ = ["EpisodeKey", "EpisodeRecord"]

STATUSES = ("success", "failure", "error")


@dataclass(frozen=True, slots=True, order=True)
class EpisodeKey:
    """What identifies an episode: episodes with the same key go the same way."""

    policy: str
    benchmark: str
    env: str
    """Hash of the environment's options."""
    task: str
    index: int
    seed: int


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """An episode's key, how it went, and what it cost."""

    key: EpisodeKey
    status: Literal["success", "failure", "error"]
    """An error is neither a success nor a failure: it says nothing about the policy."""
    steps: int = 0
    sum_reward: float = 0.0
    max_reward: float = 0.0
    terminated: bool = False
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Hashes of the physical state, by the number of steps before them."""
    error: str | None = None
    place: int | None = None
    """Its position in the planned order, if the run may stop early."""
    attempts: int = 1
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
        EPISODE(line, "")
        if line["status"] not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {line['status']!r}")
        key = EpisodeKey(**_own(EpisodeKey, line))
        timing = EpisodeTiming(**_own(EpisodeTiming, line.get("timing", {})))
        return cls(key=key, **{**_own(cls, line), "timing": timing})


def _own(kind: type, line: dict[str, Any]) -> dict[str, Any]:
    return {name: line[name] for name in _names(kind) if name in line}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))
