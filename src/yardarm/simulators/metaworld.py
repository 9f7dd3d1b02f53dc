"""Meta-World's simulator, with LeRobot's semantics; it builds the task's class directly."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS

from yardarm.envs import Observation, Step
from yardarm.simulators.metaworld_alike import make_alike, start_alike
from yardarm.simulators.mujoco_camera import MujocoCamera
from yardarm.simulators.mujoco_state import integrated_state
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["MetaworldExpert", "MetaworldSimulator"]

# LeRobot moves this camera closer to the table, and rotates its image by half a turn.
MOVED_CAMERA = "corner2"
MOVED_CAMERA_POSITION = (0.75, 0.075, 0.7)
# After a reset, these tasks draw their goal's marker where the last episode left it. (Some others, reach-v3 among
# them, draw it at the first of the two goals that a reset samples: wrong as well, but the same every time, and
# what policies were trained on.)
TASKS_WITH_STALE_MARKERS = ("push-v3", "push-back-v3")


class MetaworldSimulator:
    """One Meta-World task. Success ends an episode, and so does the task's step limit."""

    def __init__(self, task: TaskSpec) -> None:
        self._options = task.env.options
        self._has_stale_markers = task.name in TASKS_WITH_STALE_MARKERS
        self._env = _build(task.name)
        self._name = task.name
        self._alike = bool(self._options.get("alike"))
        if self._alike:
            make_alike(self._env, task.name)
        if not self._options.get("shadows", True):
            self._env.model.light_castshadow[:] = 0
        self._camera = MujocoCamera(self._env.model, self._env.data)
        self._raw = np.zeros(39)

    def reset(self, episode: EpisodeSpec) -> None:
        """Draw the episode's goal and object positions from its seed."""
        self._env.seed(episode.seed)
        self._raw, _ = self._env.reset()
        if self._has_stale_markers:
            self._move_markers()
        if self._alike:
            self._raw = start_alike(self._env, self._name, self._raw)

    def step(self, action: np.ndarray) -> Step:
        """Play one action; success ends the episode."""
        self._raw, reward, _, truncated, info = self._env.step(action)
        success = bool(info["success"])
        return Step(float(reward), success, terminated=success, truncated=bool(truncated))

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Read inputs; only ``observation.image`` is expensive."""
        return {name: self._input(name) for name in wanted}

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render from any of the model's cameras."""
        image = self._camera.render(camera, height, width)
        return image[::-1, ::-1] if camera == MOVED_CAMERA else image

    def state(self) -> np.ndarray:
        """Everything that MuJoCo integrates, and the goal, which is not part of that."""
        return np.concatenate([integrated_state(self._env.model, self._env.data), self._env._target_pos])

    def close(self) -> None:
        """Free the model and the rendering context."""
        self._camera.close()
        self._env.close()

    def _input(self, name: str) -> np.ndarray:
        if name == "observation.image":
            return self.frame(self._options["camera_name"], self._options["height"], self._options["width"])
        # A copy, because some of Meta-World's experts modify their observation.
        return (self._raw[:4] if name == "observation.state" else self._raw).copy()

    def _move_markers(self) -> None:
        # A reset writes the marker's position into the model, but `site_xpos`, which is drawn, is only computed from it
        # at the next step.
        model, data = self._env.model, self._env.data
        rotation = data.xmat[model.site_bodyid].reshape(-1, 3, 3)
        data.site_xpos[:] = data.xpos[model.site_bodyid] + np.einsum("nij,nj->ni", rotation, model.site_pos)


class MetaworldExpert:
    """Meta-World's own script of a task, which reads all 39 raw values at every step."""

    def __init__(self, episode: EpisodeSpec) -> None:
        from metaworld.policies import ENV_POLICY_MAP

        self._script = ENV_POLICY_MAP[episode.task.name]()

    def actions(self, state: np.ndarray) -> np.ndarray:
        """The next one."""
        action: np.ndarray = self._script.get_action(state)[None]
        return action


def _build(task_name: str):  # type: ignore[no-untyped-def]  # Meta-World's base class is not typed
    """Build the task's environment as `metaworld.MT1` would, without sampling its 50 unused goals (1.4 s)."""
    # The experts and Meta-World's code warn about things that a user cannot change.
    warnings.filterwarnings("ignore", module=r"metaworld|gymnasium")
    env = ALL_V3_ENVIRONMENTS[task_name]()
    # What MT1's `set_task` does: the goal is visible in the last three raw values.
    env._partially_observable = False
    env.__dict__.pop("sawyer_observation_space", None)  # cached from before the goal was visible
    env._set_task_called = True
    # Draw new goals and objects at each reset, from the generator that `seed` seeds.
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    env.model.cam_pos[env.model.camera(MOVED_CAMERA).id] = MOVED_CAMERA_POSITION
    return env
