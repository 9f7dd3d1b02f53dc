"""A key that must be held for an arm to act."""

from __future__ import annotations

from collections.abc import Callable, Collection

__all__ = ["DeadMan"]


class DeadMan:
    """Says whether somebody holds the key now: whoever lets go of it, or falls over, stops the arm.

    `held` lists the keys that are held, such as a terminal's.
    """

    def __init__(self, held: Callable[[], Collection[str]], key: str = "space") -> None:
        self._held, self.key = held, key

    @property
    def hint(self) -> str:
        """What to do, for the screen."""
        return f"hold {self.key} to let the arm move"

    def __call__(self) -> bool:
        """Whether the arm may act."""
        return self.key in self._held()
