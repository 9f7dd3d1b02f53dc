"""ALOHA in simulation as LeRobot evaluates it: gym_aloha's two tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import one_of, option, positive
from yardarm.tasks.benchmark import BenchmarkConfig
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["AlohaConfig"]

# gym_aloha has no instructions; these are exactly those of the public datasets.
INSTRUCTIONS = {
    "AlohaInsertion-v0": "Insert the peg into the socket.",
    "AlohaTransferCube-v0": "Pick up the cube with the right arm and transfer it to the left arm.",
}
CAMERAS = ("top", "angle", "front_close", "left_pillar", "right_pillar", "left_wrist", "right_wrist")
OBSERVATION_TYPES = ("pixels_agent_pos", "pixels", "state")
CONTROL_RATE = 50
IMAGE_SIZE = (480, 640)


@dataclass
class AlohaConfig(BenchmarkConfig):
    """Flags of ``--env.type=aloha``."""

    name: ClassVar[str] = "aloha"
    requirements: ClassVar[tuple[str, ...]] = (
        "gym-aloha>=0.1.5",
        "dm-control==1.0.28",  # the last for MuJoCo 3.3.0; it fails with 3.3.7, although it allows it
        "mujoco==3.3.0",  # the version that Meta-World needs, so that both worlds can be installed together
        "gymnasium>=1.1,<2",
    )
    install_hint: ClassVar[str] = "pip install 'yardarm[aloha]'"

    about: ClassVar[str] = "two arms over a table, simulated"

    task: str = option("AlohaInsertion-v0", f"tasks, separated by commas: {', '.join(INSTRUCTIONS)}")
    obs_type: str = option("pixels_agent_pos", f"what the policy may see: {', '.join(OBSERVATION_TYPES)}")
    observation_height: int = option(IMAGE_SIZE[0], "height of observation.images.top; LeRobot always shows 480")
    observation_width: int = option(IMAGE_SIZE[1], "width of observation.images.top; LeRobot always shows 640")
    episode_length: int = option(400, "step limit of an episode")
    fps: int = option(CONTROL_RATE, "ignored, for compatibility with LeRobot; the simulator's rate is 50")
    render_mode: str = option(
        "rgb_array", "ignored, for compatibility with LeRobot; pixels are rendered when a policy looks"
    )
    disable_env_checker: bool = option(True, "ignored, for compatibility with LeRobot; no checker runs")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--env.obs_type", self.obs_type, OBSERVATION_TYPES)
        positive("--env.observation_height", self.observation_height)
        positive("--env.observation_width", self.observation_width)
        positive("--env.episode_length", self.episode_length)

    def tasks(self) -> tuple[TaskSpec, ...]:
        """The selected tasks; a task selected alone has the id 0, as in LeRobot."""
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
        """Both tasks."""
        return cls(task=",".join(INSTRUCTIONS)).tasks()

    def notes(self) -> Sequence[str]:
        """What LeRobot users should know about the flags they gave."""
        defaults, notes = type(self)(), []
        size = (self.observation_height, self.observation_width)
        if "pixels" in self.obs_type and size != IMAGE_SIZE:
            notes.append(
                f"--env.observation_height and --env.observation_width set the images to {size[0]}×{size[1]} here; "
                "LeRobot ignores them for ALOHA and always uses 480×640"
            )
        if self.obs_type == "pixels":
            notes.append(
                "--env.obs_type=pixels provides 'observation.images.top' as always; "
                "LeRobot names it 'observation.top', with values up to 255"
            )
        if self.fps != defaults.fps:
            notes.append(f"--env.fps={self.fps} has no effect: ALOHA runs at {CONTROL_RATE} steps per second")
        if self.render_mode != defaults.render_mode:
            notes.append(f"--env.render_mode={self.render_mode} has no effect: policies always get RGB arrays")
        return notes

    def _env_spec(self) -> EnvSpec:
        image = {"observation.images.top": Feature((self.observation_height, self.observation_width, 3), "uint8")}
        state = {"observation.state": Feature((14,), "float64")}
        return EnvSpec(
            simulator="yardarm.simulators.aloha:AlohaSimulator",
            features={"pixels": image, "pixels_agent_pos": {**image, **state}, "state": state}[self.obs_type],
            # gym_aloha's own bounds. It does not enforce them, and its joints go further.
            action=ActionSpec(size=14, low=-1.0, high=1.0),
            cameras=CAMERAS,
            options={
                "height": self.observation_height,
                "width": self.observation_width,
                "episode_length": self.episode_length,
            },
            preload=("yardarm.simulators.aloha",),
            renderer="mujoco",
        )
