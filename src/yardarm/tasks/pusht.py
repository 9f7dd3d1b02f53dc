"""PushT as LeRobot evaluates it: gym_pusht's one task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import one_of, option, positive
from yardarm.tasks.benchmark import BenchmarkConfig
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["PushtConfig"]

TASK = "PushT-v0"
# gym_pusht has none; this is exactly that of the public dataset.
INSTRUCTION = "Push the T-shaped block onto the T-shaped target."
OBSERVATION_TYPES = ("pixels_agent_pos", "pixels", "environment_state_agent_pos", "state")
CONTROL_RATE = 10
# The size that LeRobot's policies were trained on: its own flags say 384, but never reach the simulator.
IMAGE_SIDE = 96


@dataclass
class PushtConfig(BenchmarkConfig):
    """Flags of ``--env.type=pusht``."""

    name: ClassVar[str] = "pusht"
    requirements: ClassVar[tuple[str, ...]] = ("gym-pusht>=0.1.8", "pymunk<7", "gymnasium>=1.1,<2")
    install_hint: ClassVar[str] = "pip install 'yardarm[pusht]'"

    about: ClassVar[str] = "a T-shaped block to push onto its outline, in the plane"

    task: str = option(TASK, f"the task: {TASK}")
    obs_type: str = option("pixels_agent_pos", f"what the policy may see: {', '.join(OBSERVATION_TYPES)}")
    observation_height: int = option(IMAGE_SIDE, "height of observation.image; LeRobot always shows 96")
    observation_width: int = option(IMAGE_SIDE, "width of observation.image; LeRobot always shows 96")
    episode_length: int = option(300, "step limit of an episode")
    fps: int = option(CONTROL_RATE, "ignored, for compatibility with LeRobot; the simulator's rate is 10")
    render_mode: str = option(
        "rgb_array", "ignored, for compatibility with LeRobot; pixels are drawn when a policy looks"
    )
    visualization_height: int = option(384, "ignored, for compatibility with LeRobot; videos have their own size")
    visualization_width: int = option(384, "ignored, for compatibility with LeRobot; videos have their own size")
    disable_env_checker: bool = option(True, "ignored, for compatibility with LeRobot; no checker runs")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--env.obs_type", self.obs_type, OBSERVATION_TYPES)
        positive("--env.observation_height", self.observation_height)
        positive("--env.observation_width", self.observation_width)
        positive("--env.episode_length", self.episode_length)

    def tasks(self) -> tuple[TaskSpec, ...]:
        """The only task, however often it is named."""
        (name,) = self.selected([TASK])
        task = TaskSpec(
            benchmark=self.name,
            group=self.name,
            index=0,
            name=name,
            instruction=INSTRUCTION,
            max_steps=self.episode_length,
            fps=CONTROL_RATE,
            env=self._env_spec(),
        )
        return (task,)

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """The only task."""
        return cls().tasks()

    def notes(self) -> Sequence[str]:
        """What LeRobot users should know about the flags they gave."""
        defaults, notes = type(self)(), []
        size = (self.observation_height, self.observation_width)
        if "pixels" in self.obs_type and size != (IMAGE_SIDE, IMAGE_SIDE):
            notes.append(
                f"--env.observation_height and --env.observation_width set the images to {size[0]}×{size[1]} here; "
                f"LeRobot ignores them for PushT and always uses {IMAGE_SIDE}×{IMAGE_SIDE}"
            )
        if self.fps != defaults.fps:
            notes.append(f"--env.fps={self.fps} has no effect: PushT runs at {CONTROL_RATE} steps per second")
        if self.render_mode != defaults.render_mode:
            notes.append(f"--env.render_mode={self.render_mode} has no effect: policies always get RGB arrays")
        for name in ("visualization_height", "visualization_width"):
            if (side := getattr(self, name)) != getattr(defaults, name):
                notes.append(f"--env.{name}={side} has no effect: `yardarm replay` films in any size")
        return notes

    def _env_spec(self) -> EnvSpec:
        image = {"observation.image": Feature((self.observation_height, self.observation_width, 3), "uint8")}
        agent = {"observation.state": Feature((2,), "float64", ("x", "y"))}
        corners = {"observation.environment_state": Feature((16,), "float64")}
        # gym_pusht's "state": the agent's position, the block's position, and the block's angle.
        poses = {"observation.state": Feature((5,), "float64")}
        return EnvSpec(
            simulator="yardarm.simulators.pusht:PushtSimulator",
            features={
                "pixels_agent_pos": {**image, **agent},
                "pixels": image,
                "environment_state_agent_pos": {**corners, **agent},
                "state": poses,
            }[self.obs_type],
            action=ActionSpec(2, 0.0, 512.0, ("x", "y")),
            cameras=("top",),
            options={
                # It decides what "observation.state" contains.
                "obs_type": self.obs_type,
                "height": self.observation_height,
                "width": self.observation_width,
                "episode_length": self.episode_length,
            },
            preload=("yardarm.simulators.pusht",),
        )
