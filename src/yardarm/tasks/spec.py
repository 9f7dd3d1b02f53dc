"""What can be evaluated, as pure data: picklable, and known without importing a simulator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FIRST_SEED", "ActionSpec", "EnvSpec", "EpisodeSpec", "EpisodeTiming", "Feature", "Home", "TaskSpec"]

# The seed of a task's episode 0, unless told otherwise; episode k has this plus k.
FIRST_SEED = 1000


@dataclass(frozen=True, slots=True)
class Feature:
    """One input that an environment offers: its shape (images are height, width, channel) and dtype."""

    shape: tuple[int, ...]
    dtype: str
    names: tuple[str, ...] = ()
    """What its numbers are called, where that is known; for those who look at them."""

    @property
    def is_image(self) -> bool:
        """Whether it must be rendered, which is what makes a look expensive."""
        return self.dtype == "uint8" and len(self.shape) == 3


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """A flat float32 action and its bounds: one for all of its numbers, or one each."""

    size: int
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    names: tuple[str, ...] = ()
    """What its numbers are called, where that is known."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where workers come from: an interpreter, and what it has imported before they are forked."""

    preload: tuple[str, ...] = ()
    python: str = ""
    """Path of another Python than this one."""


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """How to build a task's simulator, and what it offers."""

    simulator: str
    """``"module:Class"``, imported in workers only and called with the `TaskSpec`."""
    features: Mapping[str, Feature]
    action: ActionSpec
    cameras: tuple[str, ...] = ()
    """Cameras that a video can be taken from; the first is the default."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Plain values that change the physics or the pixels; they are part of an episode's identity."""
    preload: tuple[str, ...] = ()
    """Modules that are imported once, before workers are forked."""
    python: str = ""
    """Path of the interpreter that the workers need, if it is another than this one."""
    folder: str = ""
    """Where the simulator finds code or data that lies outside of packages."""
    lives_once: bool = False
    """Whether each episode needs a worker of its own, because nobody knows what an episode leaves behind."""
    renderer: str | None = None
    """``"mujoco"`` where pixels need an OpenGL context."""
    frame_size: tuple[int, int] | None = None
    """Height and width of a video's frames, where the simulator can draw them in one size only."""
    replayable: bool = True
    """Whether the same seed and actions give the same episode again."""

    options_hash: str = field(init=False)
    """A short name for the options: equal for equal options."""

    def __post_init__(self) -> None:
        text = json.dumps([self.simulator, dict(self.options)], sort_keys=True)
        object.__setattr__(self, "options_hash", hashlib.sha256(text.encode()).hexdigest()[:12])

    @classmethod
    def elsewhere(cls, options_hash: str, action: ActionSpec) -> EnvSpec:
        """An environment that lives with somebody else, and of which no more is known."""
        spec = cls(simulator="", features={}, action=action)
        object.__setattr__(spec, "options_hash", options_hash)
        return spec

    @property
    def home(self) -> Home:
        """Where its workers come from."""
        return Home(self.preload, self.python)

    @property
    def modules(self) -> set[str]:
        """Modules that the simulator is made of, as far as the spec names them: their packages have versions."""
        # Gymnasium's environments are registered by the package that is named, or that their namespace is called after.
        registering = self.options.get("package_name") or str(self.options.get("id", "")).rpartition("/")[0]
        return {name for name in (self.simulator.partition(":")[0], *self.preload, str(registering)) if name}


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task as it was selected: alone, or as a member of a group."""

    benchmark: str
    group: str
    """The selector that it came by: "medium", "libero_spatial", or the task itself."""
    index: int
    """Its id inside the group, as LeRobot numbers it."""
    name: str
    instruction: str
    max_steps: int
    fps: int
    env: EnvSpec

    def key(self) -> tuple[str, str, str]:
        """What it takes to be the same task, whatever group it was selected by."""
        return (self.benchmark, self.env.options_hash, self.name)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One episode to run: a task, its index among the task's episodes, and its seed."""

    task: TaskSpec
    index: int
    seed: int

    def key(self) -> tuple[str, str, str, int, int]:
        """What it takes to be the same episode."""
        return (*self.task.key(), self.index, self.seed)


@dataclass(frozen=True, slots=True)
class EpisodeTiming:
    """Where an episode's seconds went; what is left of `wall_s` was spent waiting."""

    build_s: float = 0.0
    reset_s: float = 0.0
    step_s: float = 0.0
    look_s: float = 0.0
    infer_s: float = 0.0
    """The episode's share of the batches that it was in."""
    wall_s: float = 0.0
