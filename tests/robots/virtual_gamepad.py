"""A gamepad of SDL's own: its sticks, buttons and plug are real to pygame."""

from __future__ import annotations

import ctypes
from pathlib import Path

from yardarm.robots.teleoperators.gamepad import _load_pygame

__all__ = ["VirtualGamepad"]

JOYSTICKS = 0x200
GAME_CONTROLLER = 1


class VirtualGamepad:
    """A gamepad of SDL's, plugged in and out by a program."""

    def __init__(self) -> None:
        _load_pygame()
        lines = Path("/proc/self/maps").read_text().splitlines()
        self._sdl = ctypes.CDLL(next(line.split()[-1] for line in lines if "libSDL2-" in line))
        self._sdl.SDL_JoystickFromInstanceID.restype = ctypes.c_void_p
        self._sdl.SDL_InitSubSystem(JOYSTICKS)  # counted, so that it outlives pygame's own
        self._index: int | None = None

    def plug(self, axes: int = 6, buttons: int = 12) -> None:
        self._index = self._sdl.SDL_JoystickAttachVirtual(GAME_CONTROLLER, axes, buttons, 0)
        assert self._index == 0

    def unplug(self) -> None:
        if self._index is not None:
            self._sdl.SDL_JoystickDetachVirtual(self._index)
            self._index = None

    def close(self) -> None:
        self.unplug()
        self._sdl.SDL_QuitSubSystem(JOYSTICKS)

    def tilt(self, axis: int, share: float) -> None:
        self._sdl.SDL_JoystickSetVirtualAxis(self._handle(), axis, ctypes.c_int16(int(share * 32767)))

    def press(self, button: int, is_down: bool = True) -> None:
        self._sdl.SDL_JoystickSetVirtualButton(self._handle(), button, int(is_down))

    def _handle(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._sdl.SDL_JoystickFromInstanceID(self._sdl.SDL_JoystickGetDeviceInstanceID(0)))
