"""A task's scene as LIBERO builds it, and how an episode starts in it."""

from __future__ import annotations

import contextlib
import pdb
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import mujoco
import numpy as np

from yardarm.errors import EnvironmentFault
from yardarm.simulators.libero.package import (
    TASK_MAPPING,
    RandomizationError,
    forget_sources,
    get_libero_path,
    get_problem_info,
    load_controller_config,
    load_initial_states,
)

__all__ = ["World", "stored_states"]

# Before LeRobot's first episode, the scene is loaded three times: when it is created, and by two resets.
LOADS = 3
# A scene is drawn again if its objects do not fit. LIBERO would try forever.
MOST_DRAWS = 100
# What an episode changes in a model: it moves fixtures, and shows and hides sites.
CHANGED = ("body_pos", "body_quat", "site_rgba")


class World:
    """One scene, built once. Every episode starts as it would in a newly built scene."""

    def __init__(self, suite: str, task_name: str, control_rate: int) -> None:
        self._env = _build(Path(get_libero_path("bddl_files"), suite, f"{task_name}.bddl"), control_rate)
        forget_sources()
        self.model: mujoco.MjModel = self._env.sim.model._model
        self.data: mujoco.MjData = self._env.sim.data._data
        self.robot = self._env.robots[0]
        self._as_compiled = {name: getattr(self.model, name).copy() for name in CHANGED}
        self._joint_samplers = list(self._env.object_property_initializers)
        self._fixtures = [self.model.body(fixture.root_body).id for fixture in self._env.fixtures]

    def draw(self, seed: int) -> None:
        """Place all objects and fixtures as LeRobot's hard reset does in a new environment."""
        with _seeded(seed), _without_debugger():
            for loads in range(LOADS, LOADS + MOST_DRAWS):
                # LIBERO appends them to the same list whenever it loads a scene, and draws from all of them. So their
                # number changes the draws that follow, such as the fixtures' places.
                self._env.object_property_initializers = self._joint_samplers * loads
                with contextlib.suppress(RandomizationError):
                    self._draw()
                    return
        raise EnvironmentFault(f"the objects do not fit into the scene with seed {seed} after {MOST_DRAWS} draws")

    def put(self, stored_state: np.ndarray) -> None:
        """Move all joints to a stored state. Fixtures have no joints, so they stay where they were drawn."""
        self._env.sim.set_state_from_flattened(stored_state)
        self._env.sim.forward()
        self.update_sites()

    def is_solved(self) -> bool:
        """Whether the goal is reached."""
        return bool(self._env._check_success())

    def update_sites(self) -> None:
        """Make a stove glow if it is turned on."""
        self._env._post_process()

    def fixtures(self) -> np.ndarray:
        """The fixtures' poses: they are part of the model, not of MuJoCo's state."""
        return np.hstack([self.model.body_pos[self._fixtures], self.model.body_quat[self._fixtures]]).ravel()

    def close(self) -> None:
        """Free the model."""
        self._env.close()
        del self._env, self.model, self.data, self.robot

    def _draw(self) -> None:
        for name, values in self._as_compiled.items():
            getattr(self.model, name)[:] = values
        self.robot.gripper.current_action = np.zeros(self.robot.gripper.dof)
        self._env.sim.reset()
        # Twice, as in LeRobot: the solver starts from its last solution, so the number of runs changes the last bits.
        self._env.sim.forward()
        self._env.sim.forward()
        self._env.place()
        self._env.sim.forward()
        self._env.visualize(vis_settings=dict.fromkeys(self._env._visualizations, False))


def stored_states(suite: str, task_name: str) -> np.ndarray:
    """The initial states that a task's episodes use in turn."""
    return load_initial_states(Path(get_libero_path("init_states"), suite, f"{task_name}.pruned_init"))


class _DelayedPlacement:
    """A base class in front of a LIBERO domain: creating the scene only loads it, and `place` fills it."""

    def _reset_internal(self) -> None:
        """Do nothing: robosuite calls this when it creates the scene."""

    def _setup_observables(self) -> dict[str, Any]:
        return {}

    def place(self) -> None:
        """Place robot, objects and fixtures."""
        super()._reset_internal()  # type: ignore[misc]  # of the domain


def _build(problem: Path, control_rate: int) -> Any:
    """Create a domain as LeRobot does, but without robosuite's renderer and sensors."""
    domain = TASK_MAPPING[get_problem_info(str(problem))["problem_name"]]
    delayed = type(domain)(domain.__name__, (_DelayedPlacement, domain), {})  # a domain requires its own name
    return delayed(
        str(problem),
        robots=["Panda"],
        controller_configs=load_controller_config(default_controller="OSC_POSE"),
        initialization_noise=None,
        use_camera_obs=False,
        has_offscreen_renderer=False,
        control_freq=control_rate,
    )


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, which LIBERO uses, and restore it afterwards."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


@contextlib.contextmanager
def _without_debugger() -> Iterator[None]:
    """Raise where one of LIBERO's samplers would start a debugger."""
    before = pdb.set_trace
    pdb.set_trace = _does_not_fit
    try:
        yield
    finally:
        pdb.set_trace = before


def _does_not_fit(**_: Any) -> NoReturn:
    raise RandomizationError("cannot place all objects")
