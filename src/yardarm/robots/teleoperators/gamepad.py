"""A gamepad, through pygame: sticks move an arm's hand, buttons its gripper."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import Any

from yardarm.config import option
from yardarm.errors import RobotFault, SetupError, UsageError, nearest
from yardarm.robots.teleoperators.motorless import HandConfig, HandTeleoperator

__all__ = ["Gamepad", "GamepadConfig"]

log = logging.getLogger(__name__)

BUTTONS = {"success": 3, "failure": 1, "rerecord": 0, "intervention": 5, "close": 6, "open": 7}
NUMBERS = ", ".join(f"{name} {number}" for name, number in BUTTONS.items())
# Without a window, gamepads are heard in the background only, and SDL must leave Ctrl-C and SIGTERM to us.
ENVIRONMENT = {
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "SDL_VIDEODRIVER": "dummy",
    "SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS": "1",
    "SDL_NO_SIGNAL_HANDLERS": "1",
}


@dataclass
class GamepadConfig(HandConfig):
    """Flags of ``--teleop.type=gamepad``. The numbers of axes and buttons are LeRobot's; controllers differ."""

    index: int = option(0, "which gamepad, if there are several")
    deadzone: float = option(0.1, "how far a stick may be off its middle at rest")
    x_axis: int = option(1, "the axis that moves forward and back: left stick, vertical")
    y_axis: int = option(0, "the axis that moves left and right: left stick, horizontal")
    z_axis: int = option(3, "the axis that moves up and down: right stick, vertical; often 4")
    buttons: dict[str, int] = field(
        default_factory=dict, metadata={"help": f"other numbers than {NUMBERS}: {{open: 5, close: 4}}"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.buttons:
            if name not in BUTTONS:
                raise UsageError(f"buttons has no '{name}'{nearest(name, BUTTONS)} use {', '.join(BUTTONS)}")
        for name in ("index", "x_axis", "y_axis", "z_axis"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.deadzone < 1:
            raise UsageError(f"deadzone must be at least 0 and below 1, got {self.deadzone}")


class Gamepad(HandTeleoperator):
    """Moves an arm's hand by sticks. Without its gamepad, it asks for no move, and waits until it is back."""

    name = "gamepad"
    config_class = GamepadConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._buttons = {**BUTTONS, **config.buttons}
        self._pygame: Any = None
        self._joystick: Any = None
        self._pressed: set[str] = set()
        self._rested: set[int] = set()

    @property
    def is_connected(self) -> bool:
        """Whether it listens, even if the gamepad was unplugged meanwhile."""
        return self._pygame is not None

    @property
    def legend(self) -> str:
        """The sticks and buttons, for the screen."""
        sticks = "left stick: forward, back, left, right · right stick: up, down"
        gripper = f"buttons {self._buttons['open']} and {self._buttons['close']}: open, close"
        return f"{sticks}\n{gripper}" if self.config.use_gripper else sticks

    def connect(self, calibrate: bool = True) -> None:
        """Begin to listen to the gamepad."""
        self.require_disconnected()
        pygame = _load_pygame()
        pygame.display.init()
        pygame.joystick.init()
        self._pygame = pygame
        try:
            pygame.event.pump()
            self._take()
        except BaseException:
            self.disconnect()
            raise

    def _take(self) -> None:
        """Use the gamepad that is there; a stick counts once it has been in its middle."""
        if not self._is_there():
            found = self._pygame.joystick.get_count()
            raise RobotFault(f"there is no gamepad {self.config.index}: {found} found; plug it in, or switch it on")
        joystick = self._pygame.joystick.Joystick(self.config.index)
        for name in ("x_axis", "y_axis", "z_axis"):
            if (axis := getattr(self.config, name)) >= joystick.get_numaxes():
                count = joystick.get_numaxes()
                raise UsageError(f"{name}: {joystick.get_name()} has no axis {axis}; it has {count}, from 0")
        for name, button in self._buttons.items():
            if not 0 <= button < joystick.get_numbuttons():
                raise UsageError(
                    f"{joystick.get_name()} has no button {button} for {name}; choose another: buttons={{{name}: …}}"
                )
        self._joystick, self._rested = joystick, set()

    def disconnect(self) -> None:
        """Stop listening."""
        self.require_connected()
        self._joystick = None
        self._pygame.joystick.quit()
        self._pygame.display.quit()
        self._pygame = None

    def get_action(self) -> dict[str, Any]:
        """Where the sticks want the hand to go."""
        self._update()
        config = self.config
        x, y, z = (-self._axis(axis) for axis in (config.x_axis, config.y_axis, config.z_axis))
        return self._action((x, y, z), self._is_down("open"), self._is_down("close"))

    def get_teleop_events(self) -> dict[str, bool]:
        """What buttons say of the episode, since the last call."""
        self._update()
        pressed, self._pressed = self._pressed, set()
        return {
            "is_intervention": self._is_down("intervention"),
            "terminate_episode": bool(pressed & {"failure", "rerecord"}),
            "success": "success" in pressed,
            "rerecord_episode": "rerecord" in pressed,
        }

    def _update(self) -> None:
        self.require_connected()
        pygame = self._pygame
        for event in pygame.event.get():
            if event.type == pygame.JOYBUTTONDOWN:
                self._pressed |= {name for name, button in self._buttons.items() if button == event.button}
            elif event.type == pygame.JOYDEVICEREMOVED and self._is_own(event.instance_id):
                self._joystick = None
                log.warning("the gamepad is gone: the arm holds; plug it in, or switch it on")
            elif event.type == pygame.JOYDEVICEADDED and self._joystick is None and self._is_there():
                self._take()
                log.warning("the gamepad is back")

    def _is_there(self) -> bool:
        return bool(self._pygame.joystick.get_count() > self.config.index)

    def _is_own(self, instance: int) -> bool:
        return self._joystick is not None and instance == self._joystick.get_instance_id()

    def _axis(self, axis: int) -> float:
        if self._joystick is None:
            return 0.0
        value = max(-1.0, float(self._joystick.get_axis(axis)))
        if abs(value) <= self.config.deadzone:
            self._rested.add(axis)
            return 0.0
        # A trigger that was taken for a stick rests at −1: it would drive the hand into the table.
        return value if axis in self._rested else 0.0

    def _is_down(self, name: str) -> bool:
        return self._joystick is not None and bool(self._joystick.get_button(self._buttons[name]))


def _load_pygame() -> Any:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import pygame
    except ModuleNotFoundError as error:
        raise SetupError(f"gamepads need pygame; run: pip install 'yardarm[gamepad]' ({error})") from error
    return pygame
