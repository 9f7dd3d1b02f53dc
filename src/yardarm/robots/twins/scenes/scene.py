"""What a scene is: things on the table, where they are at first, and how they should be in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

__all__ = ["ARM", "TABLE", "THING", "Scene"]

# What touches what: arms touch the table and things, things touch everything, and arms not themselves.
ARM, TABLE, THING = 1, 2, 4


class Scene(ABC):
    """Things on an arm's table."""

    name: ClassVar[str]
    cameras: ClassVar[tuple[str, ...]]
    """The names of its cameras."""

    @abstractmethod
    def furnish(self, mujoco: Any, spec: Any) -> None:
        """Add its things and cameras to MuJoCo's description of the arm on its table."""

    @abstractmethod
    def place(self, model: Any, data: Any, seed: int) -> None:
        """Put its things where a seed says, at rest."""

    @abstractmethod
    def success(self, model: Any, data: Any) -> bool:
        """Whether everything is as it should be in the end."""
