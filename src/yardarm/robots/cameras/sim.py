"""A camera of a twin's scene: what MuJoCo would show there.

In real time a thread draws the newest state, as often as it can; where time waits, the state of this moment is drawn.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from yardarm.config import one_of, option
from yardarm.errors import CameraFault, RobotFault, SetupError, UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import RGB, CameraConfig
from yardarm.robots.cameras.shots import Delivery
from yardarm.robots.clock import HostClock

if TYPE_CHECKING:
    from yardarm.robots.twins import RemoteTwin, TwinState

__all__ = ["SimCamera", "SimCameraConfig"]

VIEWS = ("front", "top", "wrist")
# The size of the buffer that the model of a twin asks for.
LARGEST = (1280, 960)
# Times are sums of fractions: what is this near to its turn has come.
NEARLY = 1e-6


@dataclass
class SimCameraConfig(CameraConfig):
    """Flags of cameras of the type ``sim``. Software draws small pictures without shadows, or few."""

    type: ClassVar[str] = "sim"

    camera: str = option("front", f"which camera of the scene: {', '.join(VIEWS)}")
    shadows: bool = option(False, "draw shadows; that takes several times as long")
    port: str = option("", "the twin's port [the robot's own]")
    fps: float | None = option(30, "pictures per second")
    width: int | None = option(160, "of the picture, after it was turned")
    height: int | None = option(120, "of the picture, after it was turned")
    warmup_s: float = option(0.0, "its light never changes")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("camera", self.camera, VIEWS)
        size = self.device_size
        if size is None or self.fps is None:
            raise UsageError("fps, width and height are needed: a scene has none of its own")
        if size[0] > LARGEST[0] or size[1] > LARGEST[1]:
            raise UsageError(
                f"pictures of a scene have at most {LARGEST[0]}×{LARGEST[1]} pixels, not {size[0]}×{size[1]}"
            )

    @property
    def source(self) -> str:
        """The camera of the scene."""
        return self.camera


class SimCamera(Camera):
    """Sees the twin through its door, and has it drawn in a process that all cameras of this kind of twin share."""

    config_class = SimCameraConfig
    given_colors = RGB
    has_noise = False
    stall_s = 5.0  # software draws as fast as it can, which is slow rather than stalled
    when_slow = "ask for a smaller picture or a lower fps, omit shadows, or let time wait: --twin.realtime=false"

    _port = ""
    _twin: RemoteTwin | None = None
    _drawing: Any = None
    _began_s = 0.0
    _shown = -1

    def belongs_to(self, port: str) -> None:
        """Show the twin behind the robot's port, unless another was named."""
        self._port = port

    @property
    def has_thread(self) -> bool:
        """A twin's clock passes when the loop waits: a thread would not know when."""
        return isinstance(self.clock, HostClock)

    def check_settings(self) -> None:
        """There is a twin, which has what the camera is on."""
        self._opened_door().close()

    def open_device(self) -> None:
        """Find the twin, and draw it once: the first picture takes seconds."""
        from yardarm.robots.twins import borrow_drawing

        self._twin = self._opened_door()
        self._drawing = borrow_drawing(self._twin.spec)
        self._drawn(self._state())
        self._began_s, self._shown = self.clock.now(), -1

    def _opened_door(self) -> RemoteTwin:
        from yardarm.robots.twins import open_door

        port = self.config.port or self._port
        twin = open_door(port) if port else None
        if twin is None:
            raise CameraFault(f"there is no twin on '{port}', and it shows twins only; is --robot.port a twin's?")
        if twin.spec.kind == "bench" and self.config.camera == "wrist":
            twin.close()
            raise CameraFault(f"the twin of {twin.spec.type} has no wrist; use front or top")
        return twin

    def close_device(self) -> None:
        """Leave the twin, and end the process if nobody else needs it."""
        from yardarm.robots.twins import return_drawing

        if self._drawing is not None:
            return_drawing(self._drawing)
        if self._twin is not None:
            self._twin.close()
        self._twin = self._drawing = None

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the next turn, and draw the newest state; turns that drawing took too long for are left out."""
        self._shown = max(self._shown, self._turn(self.clock.now()) - 1)
        due = self._began_s + (self._shown + 1) / self.config.fps
        if stopping.wait(max(0.0, due - self.clock.now())):
            return None
        self._shown += 1
        state = self._state()
        return Delivery(self._drawn(state), captured_s=state.host_s)

    def picture_at(self, now: float) -> tuple[float, Delivery] | None:
        """The twin as it is now, if a turn has come since the last picture."""
        turn = self._turn(now)
        if turn <= self._shown:
            return None
        self._shown = turn
        state = self._state()
        return min(state.seconds, now), Delivery(self._drawn(state))  # the twin adds up steps, and may be off by a bit

    def _turn(self, now: float) -> int:
        return int((now - self._began_s) * self.config.fps + NEARLY)

    def _state(self) -> TwinState:
        assert self._twin is not None
        try:
            return self._twin.state()
        except RobotFault as fault:
            raise CameraFault(str(fault)) from None

    def _drawn(self, state: TwinState) -> Any:
        import numpy as np

        width, height = self.config.device_size
        request = {"camera": self.config.camera, "shadows": self.config.shadows, "width": width, "height": height}
        try:
            content = self._drawing.draw({"angles": state.qpos, **request})
        except SetupError as error:
            raise CameraFault(str(error)) from None
        return np.frombuffer(content, np.uint8).reshape(height, width, 3)
