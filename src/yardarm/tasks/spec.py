"""Tasks and episodes as pure data: picklable, and known without importing a simulator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import UsageError

__all__ = [
    "FIRST_SEED",
    "ActionSpec",
    "EnvSpec",
    "EpisodeSpec",
    "EpisodeTiming",
    "Feature",
    "Home",
    "TaskSpec",
    "no_instruction",
]

# The default seed of a task's episode 0; episode k has this plus k.
FIRST_SEED = 1000


@dataclass(frozen=True, slots=True)
class Feature:
    """One input that an environment provides: its shape (images are height, width, channel) and dtype."""

    shape: tuple[int, ...]
    dtype: str
    names: tuple[str, ...] = ()
    """Names of its numbers, if known; for display."""

    @property
    def is_image(self) -> bool:
        """Whether it must be rendered, which makes a look expensive."""
        return self.dtype == "uint8" and len(self.shape) == 3


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """A flat float32 action and its bounds: one for all of its numbers, or one for each."""

    size: int
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    names: tuple[str, ...] = ()
    """Names of its numbers, if known."""
    discrete: bool = False
    """Whether its numbers are choices: whole numbers from `low` to `high`, of which the nearest is played."""


@dataclass(frozen=True, slots=True)
class Home:
    """What workers are forked from: an interpreter, and the modules that it has imported."""

    preload: tuple[str, ...] = ()
    python: str = ""
    """Path of another Python interpreter; empty for this one."""


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """How to build a task's simulator, and what it provides."""

    simulator: str
    """``"module:Class"``, imported only in workers and called with the `TaskSpec`."""
    features: Mapping[str, Feature]
    action: ActionSpec
    cameras: tuple[str, ...] = ()
    """Cameras for videos; the first is the default."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Plain values that change the physics or the pixels; they are part of an episode's identity."""
    preload: tuple[str, ...] = ()
    """Modules to import once, before workers are forked."""
    python: str = ""
    """Path of the workers' interpreter; empty for this one."""
    folder: str = ""
    """Where the simulator finds code or data outside of packages."""
    lives_once: bool = False
    """Whether each episode needs a new worker, because an episode may affect the next one."""
    renderer: str | None = None
    """``"mujoco"`` if pixels need an OpenGL context."""
    frame_size: tuple[int, int] | None = None
    """Height and width of a video's frames, if the simulator can draw only one size."""
    replayable: bool = True
    """Whether the same seed and actions always give the same episode."""
    expert: str = ""
    """``"module:Class"`` of a scripted expert, for ``--policy.type=expert``; imported only in workers."""

    options_hash: str = field(init=False)
    """A short hash of the options."""

    def __post_init__(self) -> None:
        text = json.dumps([self.simulator, dict(self.options)], sort_keys=True)
        object.__setattr__(self, "options_hash", hashlib.sha256(text.encode()).hexdigest()[:12])

    @classmethod
    def elsewhere(cls, options_hash: str, action: ActionSpec) -> EnvSpec:
        """An environment on a client's machine, of which only this is known."""
        spec = cls(simulator="", features={}, action=action)
        object.__setattr__(spec, "options_hash", options_hash)
        return spec

    @property
    def home(self) -> Home:
        """What its workers are forked from."""
        return Home(self.preload, self.python)

    @property
    def modules(self) -> set[str]:
        """The simulator's modules, as far as the spec names them; the versions of their packages are recorded."""
        # A Gymnasium environment is registered by the given package, or by the one named like its namespace.
        registering = self.options.get("package_name") or str(self.options.get("id", "")).rpartition("/")[0]
        return {name for name in (self.simulator.partition(":")[0], *self.preload, str(registering)) if name}


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One selected task: alone, or as a member of a group."""

    benchmark: str
    group: str
    """The selector that included it: "medium", "libero_spatial", or the task itself."""
    index: int
    """Its id within the group, as in LeRobot."""
    name: str
    instruction: str
    max_steps: int
    fps: int
    env: EnvSpec
    told: bool = False
    """Whether the user chose the instruction, which may be empty then; it is the same task all the same."""

    def key(self) -> tuple[str, str, str]:
        """What identifies the task, in whatever group it was selected."""
        return (self.benchmark, self.env.options_hash, self.name)


def no_instruction(task: TaskSpec) -> UsageError:
    """What is wrong if a policy that reads an instruction meets a task that has none."""
    return UsageError(
        f"the policy reads an instruction, but '{task.name}' of {task.benchmark} has none; give one with "
        "--env.instruction=…"
    )


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """One episode to run: a task, its index among the task's episodes, and its seed."""

    task: TaskSpec
    index: int
    seed: int

    def key(self) -> tuple[str, str, str, int, int]:
        """What identifies the episode."""
        return (*self.task.key(), self.index, self.seed)


@dataclass(frozen=True, slots=True)
class EpisodeTiming:
    """How an episode's time was spent; the rest of `wall_s` was waiting."""

    build_s: float = 0.0
    reset_s: float = 0.0
    step_s: float = 0.0
    look_s: float = 0.0
    infer_s: float = 0.0
    """The episode's share of its batches' time."""
    wall_s: float = 0.0
