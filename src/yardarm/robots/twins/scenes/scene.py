"""What a scene is: things on the table, where they are at first, and how they should be in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

__all__ = ["ARM", "FINGER", "TABLE", "THING", "Scene"]

# What touches what: arms touch the table, and not themselves; things touch the table, each other, and the inner sides
# of fingers, which the arm's round shapes would keep apart.
ARM, TABLE, THING, FINGER = 1, 2, 4, 8


class Scene(ABC):
    """Things on an arm's table."""

    name: ClassVar[str]

    @abstractmethod
    def furnish(self, mujoco: Any, spec: Any) -> None:
        """Add its things to MuJoCo's description of the arm on its table."""

    @abstractmethod
    def place(self, model: Any, data: Any, seed: int) -> None:
        """Put its things where a seed says, at rest."""

    @abstractmethod
    def success(self, model: Any, data: Any) -> bool:
        """Whether everything is as it should be in the end."""
