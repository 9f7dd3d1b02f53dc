"""Meta-World as LeRobot evaluates it: 50 tasks in four levels of difficulty, and Meta-World's own MT10 and MT50."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import one_of, option, positive
from yardarm.errors import UsageError, nearest
from yardarm.tasks.benchmark import BenchmarkConfig
from yardarm.tasks.metaworld_catalogue import GROUPS, INSTRUCTIONS, OPPOSITES
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["MetaworldConfig"]

CAMERAS = ("corner2", "topview", "corner", "corner3", "corner4", "behindGripper", "gripperPOV")
OBSERVATION_TYPES = ("pixels_agent_pos", "pixels", "state")
# Meta-World's own horizon: its simulators refuse a 501st step.
HORIZON = 500
CONTROL_RATE = 80


@dataclass
class MetaworldConfig(BenchmarkConfig):
    """Flags of ``--env.type=metaworld``."""

    name: ClassVar[str] = "metaworld"
    requirements: ClassVar[tuple[str, ...]] = (
        "metaworld==3.1.1",
        "mujoco==3.3.0",
        "gymnasium>=1.1,<2",
        "numpy>=2,<3",
        "packaging>=23",  # Gymnasium imports it for MuJoCo, but Meta-World does not require it
    )
    install_hint: ClassVar[str] = "pip install 'yardarm[metaworld]'"

    about: ClassVar[str] = "a robot arm at a table, with scripted experts"

    task: str = option("mt10", "tasks and groups, separated by commas: assembly-v3, easy, medium, mt10, mt50, …")
    obs_type: str = option("pixels_agent_pos", f"what the policy may see: {', '.join(OBSERVATION_TYPES)}")
    camera_name: str = option("corner2", f"the camera of observation.image: {', '.join(CAMERAS)}")
    observation_height: int = option(480, "height of observation.image")
    observation_width: int = option(480, "width of observation.image")
    episode_length: int = option(HORIZON, "step limit of an episode, at most 500")
    alike: bool = option(
        False, f"start opposite tasks from the same scenes, told apart by the instruction alone: {', '.join(OPPOSITES)}"
    )
    shadows: bool = option(True, "draw shadows; without them, software draws images about four times as fast")
    fps: int = option(CONTROL_RATE, "ignored, for compatibility with LeRobot; the simulator's rate is 80")
    render_mode: str = option(
        "rgb_array", "ignored, for compatibility with LeRobot; pixels are rendered when a policy looks"
    )
    multitask_eval: bool = option(True, "ignored, for compatibility with LeRobot; all tasks always share one queue")
    disable_env_checker: bool = option(True, "ignored, for compatibility with LeRobot; no checker runs")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--env.obs_type", self.obs_type, OBSERVATION_TYPES)
        one_of("--env.camera_name", self.camera_name, CAMERAS)
        positive("--env.observation_height", self.observation_height)
        positive("--env.observation_width", self.observation_width)
        positive("--env.episode_length", self.episode_length)

    def tasks(self) -> tuple[TaskSpec, ...]:
        """Expand the selector: groups become their tasks, in the order that gives their ids."""
        selectors = [_canonical(word) for word in self.task.split(",") if word.strip()]
        if not selectors:
            raise UsageError("--env.task is empty; give tasks or groups, e.g. --env.task=assembly-v3,easy")
        env = self._env_spec()
        tasks = tuple(
            TaskSpec(
                benchmark=self.name,
                group=selector,
                index=index,
                name=task_name,
                instruction=INSTRUCTIONS[task_name],
                max_steps=self._max_steps,
                fps=CONTROL_RATE,
                env=env,
            )
            for selector in dict.fromkeys(selectors)
            for index, task_name in enumerate(GROUPS.get(selector, (selector,)))
        )
        if self.alike:
            _check_opposites(tasks)
        return tasks

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """Every group with its tasks."""
        return cls(task=",".join(GROUPS)).tasks()

    def notes(self) -> Sequence[str]:
        """What LeRobot users should know about the flags they gave."""
        defaults, notes = type(self)(), []
        if self.episode_length > HORIZON:
            notes.append(
                f"--env.episode_length={self.episode_length}: Meta-World's episodes have at most {HORIZON} steps"
            )
        if self.episode_length < HORIZON:
            notes.append(
                f"--env.episode_length={self.episode_length} ends episodes early here; "
                "LeRobot ignores it for Meta-World and always plays up to 500 steps"
            )
        if self.fps != defaults.fps:
            notes.append(f"--env.fps={self.fps} has no effect: Meta-World runs at {CONTROL_RATE} steps per second")
        if not self.multitask_eval:
            notes.append("--env.multitask_eval=false has no effect: select a single task instead")
        if self.render_mode != defaults.render_mode:
            notes.append(f"--env.render_mode={self.render_mode} has no effect: policies always get RGB arrays")
        if "metaworld-" in self.task:
            notes.append("the 'metaworld-' prefix of a task is not needed; it was removed")
        return notes

    @property
    def _max_steps(self) -> int:
        return min(self.episode_length, HORIZON)

    def _env_spec(self) -> EnvSpec:
        image = {"observation.image": Feature((self.observation_height, self.observation_width, 3), "uint8")}
        state = {"observation.state": Feature((4,), "float64", ("x", "y", "z", "gripper"))}
        offered = {"pixels": image, "pixels_agent_pos": {**image, **state}, "state": state}[self.obs_type]
        return EnvSpec(
            simulator="yardarm.simulators.metaworld:MetaworldSimulator",
            expert="yardarm.simulators.metaworld:MetaworldExpert",
            # All 39 raw values are always included: Meta-World's scripted experts read them.
            features={**offered, "observation.environment_state": Feature((39,), "float64")},
            action=ActionSpec(4, -1.0, 1.0, ("dx", "dy", "dz", "gripper")),
            cameras=(self.camera_name, *(camera for camera in CAMERAS if camera != self.camera_name)),
            options={
                "camera_name": self.camera_name,
                "height": self.observation_height,
                "width": self.observation_width,
                "episode_length": self._max_steps,
                # Named only if they are set, so that the identity of all other episodes stays as it was.
                **({"alike": True} if self.alike else {}),
                **({} if self.shadows else {"shadows": False}),
            },
            preload=("yardarm.simulators.metaworld", "metaworld.policies"),
            renderer="mujoco",
        )


def _check_opposites(tasks: Sequence[TaskSpec]) -> None:
    for task in tasks:
        if task.name not in OPPOSITES:
            raise UsageError(
                f"--env.alike: {task.name} has no opposite that it could start like; {', '.join(OPPOSITES)} have"
            )


def _canonical(word: str) -> str:
    """Check one word of a selector; "metaworld-push-v3" and "push-v3" mean the same, as in LeRobot."""
    selector = word.strip().removeprefix("metaworld-")
    if selector in GROUPS or selector in INSTRUCTIONS:
        return selector
    if selector.endswith("-v2") and (renamed := selector[:-1] + "3") in INSTRUCTIONS:
        raise UsageError(f"unknown task '{selector}'; Meta-World 3 calls it '{renamed}'")
    raise UsageError(
        f"unknown task '{selector}'{nearest(selector, [*GROUPS, *INSTRUCTIONS])} `yardarm tasks metaworld` lists all"
    )
