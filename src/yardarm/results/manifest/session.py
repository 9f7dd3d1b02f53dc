"""What one session of a run was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from yardarm.results.manifest.codec import Count, Record

__all__ = [
    "BatchingRecord",
    "MachineRecord",
    "PolicyRecord",
    "RunnerRecord",
    "SessionRecord",
    "TuningChoiceRecord",
    "TuningRecord",
]


@dataclass(frozen=True, slots=True)
class MachineRecord(Record):
    """The machine that gave the command."""

    platform: str | None = None
    """Operating system, kernel and C library."""
    cpu: str | None = None
    """The processor's model."""
    usable_cores: Count | None = None
    memory_gb: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyRecord(Record):
    """A policy: its id, its type, and what it says of itself."""

    id: str | None = None
    """What its results are filed under: a hash of weights or source, or a name of its own."""
    type: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the policy says of itself: its checkpoint, its device, what its server has declared."""

    @property
    def path(self) -> str | None:
        """The checkpoint that it was loaded from: a folder, or a place on the Hub."""
        return self.extra.get("path")

    @property
    def commit(self) -> str | None:
        """The checkpoint's commit, if it came from the Hub."""
        return self.extra.get("commit")

    @property
    def server_versions(self) -> Mapping[str, Any]:
        """What a policy's server that knows Yardarm has said of its software."""
        said: Any = self.extra
        for name in ("declared", "yardarm", "about"):
            said = said.get(name) if isinstance(said, Mapping) else None
        return said if isinstance(said, Mapping) else {}

    def loaded_from(self, path: str | None) -> PolicyRecord:
        """The same from another checkpoint."""
        return replace(self, extra={**self.extra, "path": path})


@dataclass(frozen=True, slots=True)
class RunnerRecord(Record):
    """Where workers and policies lived."""

    type: str
    """`local` or `ray`."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """On a cluster: its address, nodes and replicas."""


@dataclass(frozen=True, slots=True)
class BatchingRecord(Record):
    """How the policy's batches were put together: fixed when a run begins, and kept by all who resume it."""

    exact: bool
    """Whether an episode's actions are the same for any number of workers."""
    rows: Count | None
    """The rows of a micro-batch; none: as many as there are."""
    threads: Count | None
    """Torch's threads; none: as many as it takes."""
    device: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TuningChoiceRecord(Record):
    """A number of workers that was chosen while the run went on, and why."""

    workers: Count
    instead_of: Count
    reason: str
    at: str | None = None
    measured: Mapping[str, Any] = field(default_factory=dict)
    """Seconds, rounds, inferences, what each costs, and the cores that other programs used."""
    episode_s: Mapping[str, float] = field(default_factory=dict)
    """Where the mean episode's seconds went."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Cores, the most workers, episodes and seconds that were left."""
    predicted_rounds_per_s: Mapping[str, float] = field(default_factory=dict)
    """By the number of workers."""


@dataclass(frozen=True, slots=True)
class TuningRecord(Record):
    """How the number of workers came about."""

    pinned: bool
    """Whether the user chose it."""
    began_with: Count
    choices: tuple[TuningChoiceRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionRecord(Record):
    """What one session of a run, from a command to its end, was made with."""

    started: str | None = None
    updated: str | None = None
    """When it was last heard of."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    """Of packages, in Yardarm's own process; none: not installed."""
    environment_variables: Mapping[str, str] | None = None
    """Those that can change results; none: not recorded."""
    machine: MachineRecord | None = None
    git_commit: str | None = None
    """Of the folder that the command was given in; "+" marks uncommitted changes."""
    command: tuple[str, ...] = ()
    batch_size: Count | None = None
    """The number of workers; 0 or none: it played nothing."""
    renderer: str | None = None
    other_interpreters: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Versions of packages by the path of an interpreter that simulators lived in."""
    worlds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The interpreters of each benchmark; "" is Yardarm's own."""
    uses_torch: bool | None = None
    """Whether the policy computed with torch in Yardarm's own process; none: not recorded."""
    policy: PolicyRecord | None = None
    runner: RunnerRecord | None = None
    batching: BatchingRecord | None = None
    """None of a policy that answers requests in its own way."""
    tuning: TuningRecord | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def played(self) -> bool:
        """Whether it started workers; a shard may have nothing to play."""
        return bool(self.batch_size)

    def tuned(self, choice: TuningChoiceRecord) -> SessionRecord:
        """The same with another number of workers."""
        assert self.tuning is not None
        tuning = replace(self.tuning, choices=(*self.tuning.choices, choice))
        return replace(self, batch_size=choice.workers, tuning=tuning)
