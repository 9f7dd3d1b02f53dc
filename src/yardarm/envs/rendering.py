"""Chooses the OpenGL backend that a worker renders with, because the defaults need a display."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from ctypes.util import find_library
from pathlib import Path
from typing import Any

from yardarm.errors import SetupError

__all__ = ["backends", "gpu_ids", "missing_renderer_hint", "renderer_name", "rendering_off", "use_backend"]

HEADLESS = ("egl", "osmesa")
KNOWN = ("egl", "osmesa", "glfw", "glx", "cgl")
# Where MuJoCo decides, at import, how it renders; newer versions have moved it.
DECIDING_MODULES = ("mujoco.rendering.classic.gl_context", "mujoco.gl_context")
# The libraries that implement EGL behind the common one.
EGL_DRIVERS = ("EGL_mesa", "EGL_nvidia")


def backends() -> tuple[str, ...]:
    """The backends to try, in order: the user's ``MUJOCO_GL``, or EGL and then OSMesa."""
    asked = os.environ.get("MUJOCO_GL", "").strip().lower()
    if not asked:
        return ("cgl",) if sys.platform == "darwin" else HEADLESS
    if asked not in KNOWN:
        raise SetupError(f"MUJOCO_GL is set to '{asked}', which cannot render; unset it, or set it to egl or osmesa")
    return (asked,)


def missing_renderer_hint() -> str:
    """What the user can do if nothing renders."""
    if os.environ.get("MUJOCO_GL"):
        return f"MUJOCO_GL is set to '{os.environ['MUJOCO_GL']}': unset it, or set it to egl or osmesa"
    if sys.platform == "linux" and not _has_opengl():
        return "on Debian or Ubuntu: sudo apt-get install libegl1 libgl1 libosmesa6"
    return (
        "the system has OpenGL, so the versions of mujoco and PyOpenGL may be incompatible; "
        "`yardarm setup BENCHMARK` installs a world with versions that work together"
    )


def _has_opengl() -> bool:
    """Whether the system has a library that renders without a display: EGL with a driver, or OSMesa."""
    egl = find_library("EGL") and any(map(find_library, EGL_DRIVERS))
    return bool(egl or find_library("OSMesa"))


def use_backend(name: str) -> None:
    """Make MuJoCo render with this backend from now on; called in a fresh worker, before any rendering."""
    os.environ["MUJOCO_GL"] = name
    os.environ["PYOPENGL_PLATFORM"] = name
    if "mujoco" in sys.modules:
        # MuJoCo was imported before the fork with rendering off. A missing library raises ImportError, or makes
        # PyOpenGL look up functions in None; it raises again when something is rendered.
        with contextlib.suppress(ImportError, AttributeError):
            importlib.reload(importlib.import_module(_deciding_module()))


def _deciding_module() -> str:
    import mujoco

    for name in DECIDING_MODULES:
        with contextlib.suppress(ModuleNotFoundError):  # a parent of the name is missing
            if importlib.util.find_spec(name):
                return name
    raise ImportError(f"mujoco {mujoco.__version__} has none of {', '.join(DECIDING_MODULES)}")


def _context_class() -> Any:
    """MuJoCo's OpenGL context class for the current backend; raises if its library cannot be loaded."""
    module = importlib.import_module(_deciding_module())
    if not hasattr(module, "GLContext"):  # imported while rendering was off
        module = importlib.reload(module)
    return module.GLContext


@contextlib.contextmanager
def rendering_off() -> Iterator[None]:
    """Import modules inside this block that would otherwise load OpenGL or look for a display."""
    before = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["MUJOCO_GL"]
        else:
            os.environ["MUJOCO_GL"] = before


def renderer_name() -> str:
    """Open a context and ask OpenGL for its renderer's name; raises if it cannot be opened."""
    context = _context_class()(64, 64)
    context.make_current()
    from OpenGL import GL

    name = GL.glGetString(GL.GL_RENDERER)
    if not name:
        raise RuntimeError("OpenGL opened a context but does not name its renderer")
    return f"{os.environ['MUJOCO_GL']}: {name.decode()}"


def gpu_ids() -> list[str]:
    """The NVIDIA devices to spread workers over: those in ``CUDA_VISIBLE_DEVICES`` if set, otherwise all."""
    visible = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if all(word.isdecimal() for word in visible):
        return visible
    return [str(index) for index in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
