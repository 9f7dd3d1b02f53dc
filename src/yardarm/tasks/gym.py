"""The benchmark of any environment that is registered with Gymnasium."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from yardarm.config import NamedCode, option, positive
from yardarm.errors import UsageError
from yardarm.tasks.benchmark import ProbedBenchmark
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["GymConfig", "GymLikeConfig"]

CAMERA = "render"
# Gymnasium's own ids for environments with older interfaces: their arguments name what is imported.
MADE_BY_ARGUMENTS = ("GymV21Environment", "GymV26Environment")


@dataclass
class GymLikeConfig(ProbedBenchmark):
    """Flags of every environment that follows Gymnasium's interface."""

    requirements: ClassVar[tuple[str, ...]] = ("gymnasium>=1.1,<2",)
    install_hint: ClassVar[str] = "pip install 'yardarm[gym]'"
    simulator: ClassVar[str]

    episode_length: int | None = option(None, "step limit of an episode; default: the environment's own")
    fps: int | None = option(None, "steps per second, for videos; default: the environment's own")
    kwargs: dict[str, Any] = field(
        default_factory=dict, metadata={"help": 'more arguments of the environment: {"name": value, …}'}
    )
    success_key: str = option("is_success", "the entry of a step's info that reports success")
    success_reward: float | None = option(None, "instead: a reward of at least this much is a success")
    success_ends_episode: bool = option(
        False, "end at the first success; otherwise only success at the end of the episode counts"
    )
    rebuild: bool = option(True, "create a new environment in a new process for each episode; false is faster")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("episode_length", "fps"):
            if getattr(self, name) is not None:
                positive(f"--env.{name}", getattr(self, name))
        try:
            json.dumps(self.kwargs)
        except TypeError as error:
            raise UsageError(f"--env.kwargs={self.kwargs} must be plain values: {error}") from error

    def notes(self) -> Sequence[str]:
        """A warning if environments are reused, or policies told nothing, which older files meant otherwise."""
        notes = []
        if not self.rebuild:
            notes.append("--env.rebuild=false: Yardarm relies on the environment to start every episode from scratch")
        if self.instruction == "":
            notes.append("--env.instruction is empty: policies are told nothing; omit it for the environment's own")
        return notes

    def success_entry(self) -> str | None:
        """The entry that a step's info must have, if success is read from it."""
        return self.success_key if self.success_reward is None else None

    def conditions(self) -> dict[str, Any]:
        """The options that decide how episodes are played and judged."""
        return {
            "success_key": self.success_key,
            "success_reward": self.success_reward,
            "success_ends_episode": self.success_ends_episode,
            "rebuild": self.rebuild,
        }

    def task_from(
        self, answer: Mapping[str, Any], *, group: str, index: int, name: str, options: dict[str, Any]
    ) -> TaskSpec:
        """Make a task from a worker's description of its environment."""
        inputs = {name: Feature(tuple(shape), dtype) for name, (shape, dtype) in answer["inputs"].items()}
        picture = answer["picture"]
        drawn = {}
        if picture is not None and not any(feature.is_image for feature in inputs.values()):
            drawn["observation.image"] = Feature((*picture, 3), "uint8")
        return TaskSpec(
            benchmark=self.name,
            group=group,
            index=index,
            name=name,
            instruction=answer["instruction"] or name,
            max_steps=answer["max_steps"],
            fps=self.fps or answer["fps"],
            env=EnvSpec(
                simulator=self.simulator,
                features={**inputs, **drawn},
                action=ActionSpec(**answer["action"]),
                cameras=(CAMERA,) if picture is not None else (),
                options={**options, **self.conditions(), "episode_length": answer["max_steps"]},
                preload=(self.simulator.partition(":")[0],),
                renderer="mujoco" if answer["mujoco"] and picture is not None else None,
                frame_size=None if picture is None else (picture[0], picture[1]),
                lives_once=self.rebuild,
                replayable=answer["repeats"],
            ),
        )


@dataclass
class GymConfig(GymLikeConfig):
    """Flags of ``--env.type=gym``."""

    name: ClassVar[str] = "gym"
    probe: ClassVar[str] = "yardarm.simulators.gym:describe_registered"
    simulator: ClassVar[str] = "yardarm.simulators.gym:GymSimulator"
    about: ClassVar[str] = "any environment registered with Gymnasium: --env.task=ID [--env.package_name=…]"

    task: str = option("", "registered ids, separated by commas: CartPole-v1, Namespace/Id-v0, …")
    package_name: str = option("", "the package that registers them when it is imported")

    def probe_arguments(self) -> dict[str, Any]:
        """The ids, and the options that create them."""
        if not self._ids():
            raise UsageError("--env.task is empty; give a registered id, e.g. --env.task=FetchReach-v4")
        wanted = {"episode_length": self.episode_length, "success_key": self.success_entry()}
        return {"ids": self._ids(), "options": {**self._making(), **wanted}}

    def tasks_from(self, answer: Sequence[Mapping[str, Any]]) -> tuple[TaskSpec, ...]:
        """One task per id."""
        return tuple(
            self.task_from(
                found,
                group=self.name,
                index=index,
                name=name,
                options={**self._making(), "id": name, "render_mode": found["render_mode"]},
            )
            for index, (name, found) in enumerate(zip(self._ids(), answer, strict=True))
        )

    def named_code(self) -> list[NamedCode]:
        """The given package, and those that ids name: "package:Id", or "namespace/Id" with a package of that name."""
        codes = super().named_code()
        if self.package_name:
            codes.append(NamedCode("package_name", f"the package '{self.package_name}'", self.package_name))
        for name in self._ids():
            if package := _package_of(name):
                codes.append(NamedCode("task", f"the package '{package}' of '{name}'", package))
            elif self.kwargs and name.startswith(MADE_BY_ARGUMENTS):
                codes.append(NamedCode("kwargs", f"the code that the arguments of '{name}' name"))
        return codes

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(word.strip() for word in self.task.split(",") if word.strip()))

    def _making(self) -> dict[str, Any]:
        return {"package_name": self.package_name, "kwargs": self.kwargs}


def _package_of(name: str) -> str:
    package, colon, name = name.rpartition(":")
    return package if colon else name.rpartition("/")[0]
