"""What the person who records wants: by a key, by a button of the page, or by one of the teleoperator."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping

from yardarm.robots import Keys

__all__ = ["KEYS", "Wish", "Wishes"]


class Wish(enum.Enum):
    """What the recording can be asked for."""

    END = "end"
    """End the episode, or the reset."""
    AGAIN = "again"
    """Discard the episode, and record it again."""
    STOP = "stop"
    """End the episode and the recording."""


KEYS = {
    **{"right": Wish.END, "n": Wish.END},
    **{"left": Wish.AGAIN, "r": Wish.AGAIN},
    **{"esc": Wish.STOP, "q": Wish.STOP},
}


class Wishes:
    """Takes keys and buttons; the last of several counts, but a stop is never forgotten."""

    def __init__(self, keys: Keys, events: Callable[[], Mapping[str, bool]] | None = None) -> None:
        self._keys = keys
        self._events = events or dict
        """A teleoperator's own, by LeRobot's names, since it was last asked."""
        self._pressed: deque[Wish] = deque()

    def button(self, wish: Wish) -> Callable[[], None]:
        """What a button calls, from whatever thread."""
        return lambda: self._pressed.append(wish)

    def take(self) -> Wish | None:
        """What was wished since the last time."""
        wishes = [KEYS[name] for name in self._keys.pressed() if name in KEYS]
        while self._pressed:
            wishes.append(self._pressed.popleft())
        events = self._events()
        if events.get("rerecord_episode"):
            wishes.append(Wish.AGAIN)
        elif events.get("terminate_episode") or events.get("success"):
            wishes.append(Wish.END)
        return Wish.STOP if Wish.STOP in wishes else wishes[-1] if wishes else None
