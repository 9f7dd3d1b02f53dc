"""The record of a run: what it is, what each session was made with, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from yardarm.contents import number
from yardarm.results.manifest.codec import Count, Record
from yardarm.results.manifest.formats import numbered, read_any_format
from yardarm.results.manifest.session import MachineRecord, SessionRecord
from yardarm.results.manifest.stopping import StoppingDeclaration, StoppingRecord
from yardarm.results.mixing import mixed_versions
from yardarm.tasks import ActionSpec, EnvSpec, TaskSpec

__all__ = ["MergedPart", "PlanRecord", "PlannedTask", "RunManifest", "TrackingRecord"]

DERIVED = "mixed_versions"
UNKNOWN_ACTION = ActionSpec(0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PlanRecord(Record):
    """What must be equal for one run to continue another's episodes; their number may grow."""

    policy: str | None = None
    """The policy's id; none: of an evaluation of several, which share the rest."""
    seed: int | None = None
    """Episode k of each task has the seed `seed` + k."""
    tasks: tuple[str, ...] = ()
    """`group/name` of each, as selected."""
    env: tuple[Mapping[str, Any], ...] = ()
    """The options of each environment, and its benchmark."""
    stopping: StoppingDeclaration | None = None
    """What was declared of early stopping, if anything."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedTask(Record):
    """A task as it was selected; one that is in two groups is there for each."""

    benchmark: str
    env: str
    """Hash of the environment's options."""
    group: str
    index: int
    """Its number in the group."""
    name: str
    instruction: str
    max_steps: Count
    fps: Annotated[int, number]
    """Steps a second; a world from elsewhere may have half ones."""

    @classmethod
    def of(cls, task: TaskSpec) -> PlannedTask:
        """What is kept of a task."""
        return cls(
            benchmark=task.benchmark,
            env=task.env.options_hash,
            group=task.group,
            index=task.index,
            name=task.name,
            instruction=task.instruction,
            max_steps=task.max_steps,
            fps=task.fps,
        )

    def key(self) -> tuple[str, str, str]:
        """What makes it the same task, whatever group it was selected by."""
        return self.benchmark, self.env, self.name

    def spec(self) -> TaskSpec:
        """The task again; of its environment no more is known than its name."""
        return TaskSpec(
            benchmark=self.benchmark,
            group=self.group,
            index=self.index,
            name=self.name,
            instruction=self.instruction,
            max_steps=self.max_steps,
            fps=self.fps,
            env=EnvSpec.elsewhere(self.env, UNKNOWN_ACTION),
        )


@dataclass(frozen=True, slots=True)
class TrackingRecord(Record):
    """What Weights & Biases knows a run by."""

    id: str | None = None
    project: str | None = None
    url: str | None = None
    files: str | None = None
    """The folder to upload with `wandb sync`, if it was tracked offline."""


@dataclass(frozen=True, slots=True)
class MergedPart(Record):
    """A run that was merged into another."""

    run: str
    """Its folder, as seen from the merged run's."""
    shard: str | None
    episodes: Count
    wall_s: float
    machine: MachineRecord | None = None


@dataclass(frozen=True, slots=True)
class RunManifest(Record):
    """All of `manifest.json`."""

    plan: PlanRecord
    n_episodes: Count
    """Of each task."""
    tasks: tuple[PlannedTask, ...]
    plan_hash: str | None = None
    """A short name for the plan."""
    status: str = "interrupted"
    """`running`, `finished` or `interrupted`. A killed process leaves `running` behind."""
    started: str | None = None
    updated: str | None = None
    """When the file was last written."""
    wall_s: float = 0.0
    """Seconds, over all sessions."""
    shard: str | None = None
    """Which part of an evaluation it is, "2/8"; none: all of it."""
    planned: Count | None = None
    """How many episodes a shard has."""
    method: str | None = None
    training_seed: int | None = None
    stopping: StoppingRecord | None = None
    """The state of a run that may stop early."""
    warnings: tuple[str, ...] = ()
    """What is odd about the actions that were played, and about the sessions."""
    tracking: TrackingRecord | None = None
    merged_from: tuple[MergedPart, ...] = ()
    sessions: tuple[SessionRecord, ...] = ()
    """The newest last."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def newest(self) -> SessionRecord:
        """The newest session; an empty one before the first begins."""
        return self.sessions[-1] if self.sessions else SessionRecord()

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Where the tasks come from."""
        return tuple(dict.fromkeys(task.benchmark for task in self.tasks))

    @property
    def planned_episodes(self) -> int:
        """How many episodes the plan has; of a shard's run, how many of them are its own."""
        if self.shard is not None and self.planned is not None:
            return self.planned
        return self.n_episodes * len({task.key() for task in self.tasks})

    @property
    def mixed_versions(self) -> dict[str, list[str]]:
        """What the sessions used in several versions, and in which; empty for a run as it should be."""
        return mixed_versions(self.sessions, self.benchmarks)

    @property
    def decided(self) -> bool:
        """Whether a run that may stop early has decided."""
        return self.stopping is not None and self.stopping.decision is not None

    def to_json(self) -> dict[str, Any]:
        """What `manifest.json` holds; mixed versions follow from the sessions, and are told for readers' sake."""
        return numbered({**Record.to_json(self), DERIVED: self.mixed_versions})

    @classmethod
    def from_json(cls, content: Any, place: str = "") -> RunManifest:
        """Read any format."""
        found = read_any_format(cls, content, place)
        found["extra"].pop(DERIVED, None)
        return cls(**found)
