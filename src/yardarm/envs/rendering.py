"""Which OpenGL a worker renders with. Chosen by the program, because the defaults need a display."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from yardarm.errors import SetupError

__all__ = ["backends", "gpu_ids", "missing_renderer_hint", "renderer_name", "rendering_off", "use_backend"]

HEADLESS = ("egl", "osmesa")
KNOWN = ("egl", "osmesa", "glfw", "glx", "cgl")


def backends() -> tuple[str, ...]:
    """What to try, in order: the user's ``MUJOCO_GL``, or EGL and then OSMesa."""
    asked = os.environ.get("MUJOCO_GL", "").strip().lower()
    if not asked:
        return ("cgl",) if sys.platform == "darwin" else HEADLESS
    if asked not in KNOWN:
        raise SetupError(f"MUJOCO_GL is set to '{asked}', which cannot render; unset it, or set it to egl or osmesa")
    return (asked,)


def missing_renderer_hint() -> str:
    """What to do where nothing renders."""
    if os.environ.get("MUJOCO_GL"):
        return f"MUJOCO_GL is set to '{os.environ['MUJOCO_GL']}': unset it, or set it to egl or osmesa"
    return "on Debian or Ubuntu: sudo apt-get install libegl1 libgl1 libosmesa6"


def use_backend(name: str) -> None:
    """Make MuJoCo render with this backend from now on; called in a fresh worker, before any rendering."""
    os.environ["MUJOCO_GL"] = name
    os.environ["PYOPENGL_PLATFORM"] = name
    if "mujoco" in sys.modules:
        # MuJoCo was imported before the fork with rendering off, and decides at import.
        import mujoco.gl_context

        importlib.reload(mujoco.gl_context)


@contextlib.contextmanager
def rendering_off() -> Iterator[None]:
    """For imports of what would load an OpenGL binding of its own, or look for a display."""
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
    """Open a context and ask OpenGL who renders; raises if it cannot be opened."""
    import mujoco.gl_context

    context = mujoco.gl_context.GLContext(64, 64)
    context.make_current()
    from OpenGL import GL

    name = GL.glGetString(GL.GL_RENDERER)
    if not name:
        raise RuntimeError("OpenGL opened a context but does not name its renderer")
    return f"{os.environ['MUJOCO_GL']}: {name.decode()}"


def gpu_ids() -> list[str]:
    """NVIDIA devices that workers can be spread over, those of ``CUDA_VISIBLE_DEVICES`` if it is set."""
    visible = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if all(word.isdecimal() for word in visible):
        return visible
    return [str(index) for index in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
