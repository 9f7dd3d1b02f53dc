"""What can be on a twin's table."""

from __future__ import annotations

from yardarm.errors import UsageError, nearest
from yardarm.robots.twins.scenes.cube_and_box import CubeAndBox
from yardarm.robots.twins.scenes.scene import Scene

__all__ = ["SCENES", "CubeAndBox", "Scene", "check_scene", "find_scene"]

SCENES: dict[str, type[Scene]] = {"cube_and_box": CubeAndBox}


def check_scene(name: str) -> None:
    """Raise if there is no such scene; none at all is one, too."""
    if name and name not in SCENES:
        raise UsageError(f"--twin.scene={name} is unknown{nearest(name, SCENES)} there is {', '.join(SCENES)}")


def find_scene(name: str) -> Scene | None:
    """A scene by its name; None for an empty table."""
    check_scene(name)
    return SCENES[name]() if name else None
