"""A task's scene as LIBERO builds it, and how an episode begins in it."""

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

# LeRobot's first episode finds a scene that was loaded three times: when it was made, and by two resets.
LOADS = 3
# A scene is drawn again when its objects do not fit. LIBERO would go on for ever.
MOST_DRAWS = 100
# What an episode changes in a model: fixtures are moved, sites are shown and hidden.
CHANGED = ("body_pos", "body_quat", "site_rgba")


class World:
    """One scene, built once. Every episode begins as it would in a scene that was built for it alone."""

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
        with _seeded(seed), _nobody_asked():
            for loads in range(LOADS, LOADS + MOST_DRAWS):
                # LIBERO puts them into the same list whenever it loads a scene, and draws from all of them. What is
                # drawn next, such as the places of fixtures, depends on how many there are.
                self._env.object_property_initializers = self._joint_samplers * loads
                with contextlib.suppress(RandomizationError):
                    self._draw()
                    return
        raise EnvironmentFault(f"the objects do not fit into the scene with seed {seed}; {MOST_DRAWS} draws were tried")

    def put(self, stored_state: np.ndarray) -> None:
        """Move all joints to where a stored state has them. Fixtures have none: they stay where they were drawn."""
        self._env.sim.set_state_from_flattened(stored_state)
        self._env.sim.forward()
        self.update_sites()

    def is_solved(self) -> bool:
        """Whether the goal holds."""
        return bool(self._env._check_success())

    def update_sites(self) -> None:
        """Have a stove glow if it is turned on."""
        self._env._post_process()

    def fixtures(self) -> np.ndarray:
        """Where the fixtures are: they are part of the model, not of MuJoCo's state."""
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
        # Twice, as in LeRobot: the solver starts from its last solution, so the last bits depend on how often it ran.
        self._env.sim.forward()
        self._env.sim.forward()
        self._env.place()
        self._env.sim.forward()
        self._env.visualize(vis_settings=dict.fromkeys(self._env._visualizations, False))


def stored_states(suite: str, task_name: str) -> np.ndarray:
    """The states that a task's episodes begin in, in turn."""
    return load_initial_states(Path(get_libero_path("init_states"), suite, f"{task_name}.pruned_init"))


class _Unplaced:
    """Goes before a domain of LIBERO's: loads the model, and nothing else."""

    def _reset_internal(self) -> None:
        """Called by robosuite when the scene is made, when nothing is to be placed yet."""

    def _setup_observables(self) -> dict[str, Any]:
        return {}

    def place(self) -> None:
        """Place robot, objects and fixtures."""
        super()._reset_internal()  # type: ignore[misc]  # of the domain


def _build(problem: Path, control_rate: int) -> Any:
    """Make a domain as LeRobot does, but without robosuite's renderer and sensors."""
    domain = TASK_MAPPING[get_problem_info(str(problem))["problem_name"]]
    unplaced = type(domain)(domain.__name__, (_Unplaced, domain), {})  # a domain insists on its name
    return unplaced(
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
    """LIBERO draws from NumPy's global generator, which is given back as it was."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


@contextlib.contextmanager
def _nobody_asked() -> Iterator[None]:
    """One of LIBERO's samplers starts a debugger where the others raise."""
    before = pdb.set_trace
    pdb.set_trace = _does_not_fit
    try:
        yield
    finally:
        pdb.set_trace = before


def _does_not_fit(**_: Any) -> NoReturn:
    raise RandomizationError("cannot place all objects")
