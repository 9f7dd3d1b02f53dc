"""The keyboard, through the terminal: as keys, or as moves of an arm's hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.config import one_of, option
from yardarm.robots.device import Features
from yardarm.robots.keys import Keys
from yardarm.robots.teleoperators.motorless import HandConfig, HandTeleoperator, MotorlessTeleoperator

__all__ = ["Keyboard", "KeyboardHand", "KeyboardHandConfig"]

# Seen from behind the arm: x is forward, y left, z up. None of these keys means anything while recording.
MOVES: Mapping[str, tuple[float, float, float]] = {
    **{"i": (1, 0, 0), "k": (-1, 0, 0), "j": (0, 1, 0), "l": (0, -1, 0), "u": (0, 0, 1), "d": (0, 0, -1)},
    **{"page_up": (0, 0, 1), "page_down": (0, 0, -1), "shift+up": (0, 0, 1), "shift+down": (0, 0, -1)},
}
ARROWS: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "arm": {"up": (1, 0, 0), "down": (-1, 0, 0), "left": (0, 1, 0), "right": (0, -1, 0)},
    "lerobot": {"up": (0, -1, 0), "down": (0, 1, 0), "left": (1, 0, 0), "right": (-1, 0, 0)},
}
OPENS, CLOSES = "o", "c"
SUCCESS, AGAIN, FAILURE = "s", "r", "q"


class TerminalTeleoperator(MotorlessTeleoperator):
    """Listens to the terminal while it is connected."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._keys: Keys | None = None

    @property
    def is_connected(self) -> bool:
        """Whether it listens to the terminal."""
        return self._keys is not None

    def connect(self, calibrate: bool = True) -> None:
        """Begin to listen to the terminal."""
        self.require_disconnected()
        self._keys = Keys()
        self._keys.open()

    def disconnect(self) -> None:
        """Leave the terminal as it was."""
        self.keys.close()
        self._keys = None

    @property
    def keys(self) -> Keys:
        """The keys, while it is connected."""
        self.require_connected()
        assert self._keys is not None
        return self._keys


class Keyboard(TerminalTeleoperator):
    """Gives the keys that are held down, as the names of an action without values."""

    name = "keyboard"

    @property
    def action_features(self) -> Features:
        """None: keys have no values."""
        return {}

    def get_action(self) -> dict[str, Any]:
        """The keys that are held down."""
        return dict.fromkeys(sorted(self.keys.held()))


@dataclass
class KeyboardHandConfig(HandConfig):
    """Flags of ``--teleop.type=keyboard_ee``."""

    arrows: str = option("arm", "where arrows move the hand, seen from behind the arm; lerobot: as LeRobot has them")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("arrows", self.arrows, ARROWS)


class KeyboardHand(TerminalTeleoperator, HandTeleoperator):
    """Moves an arm's hand by keys that every terminal sends."""

    name = "keyboard_ee"
    config_class = KeyboardHandConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._moves = {**MOVES, **ARROWS[config.arrows]}

    @property
    def legend(self) -> str:
        """The keys, for the screen."""
        arrows = " (or arrows)" if self.config.arrows == "arm" else ""
        gripper = f" · {OPENS} {CLOSES} open, close" if self.config.use_gripper else ""
        return f"i k forward, back · j l left, right{arrows}\nu d up, down (or shift+↑↓){gripper}"

    def get_action(self) -> dict[str, Any]:
        """Where the held keys want the hand to go."""
        held = self.keys.held()
        ways = {self._moves[name] for name in held if name in self._moves}
        x, y, z = (float(sum(way[axis] for way in ways)) for axis in range(3))
        return self._action((x, y, z), OPENS in held, CLOSES in held)

    def get_teleop_events(self) -> dict[str, bool]:
        """What keys say of the episode: s it succeeded, q it failed, r it shall be recorded again."""
        held, pressed = self.keys.held(), self.keys.pressed()
        return {
            "is_intervention": any(name in held for name in (*self._moves, OPENS, CLOSES)),
            "terminate_episode": FAILURE in pressed or AGAIN in pressed,
            "success": SUCCESS in pressed,
            "rerecord_episode": AGAIN in pressed,
        }
