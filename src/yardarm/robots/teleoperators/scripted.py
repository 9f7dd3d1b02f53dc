"""A leader that nobody moves: it looks at the robot's twin, and picks the cube of its scene into the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm.robots.bus_device import BODY
from yardarm.robots.device import DeviceConfig, Features
from yardarm.robots.motors import DEGREES, SIGNED_PERCENT
from yardarm.robots.so_arm import SO_MOTORS
from yardarm.robots.teleoperator import Teleoperator

__all__ = ["ScriptedConfig", "ScriptedPicker"]

SCENE = "cube_and_box"
# After it has let go, the cube falls, and comes to rest.
SETTLED_S = 0.3
# If nobody asks whether it is over, it goes home by itself after so long.
UNASKED_S = 1.0


@dataclass
class ScriptedConfig(DeviceConfig):
    """Flags of ``--teleop.type=scripted_pick_place``."""

    port: str = option("", "the port of the robot's twin [the robot's own]")
    seed: int = option(0, "how the moves differ from one episode to the next")
    use_degrees: bool = option(True, "joints in degrees, as the robot's; false: −100 to 100 of their range")


class ScriptedPicker(Teleoperator):
    """Picks and places, once after each reset of the scene; then it goes home, and waits for the next.

    Its time is the twin's. It says by `get_teleop_events` when an episode is over, and whether the cube is in the box.
    """

    name = "scripted_pick_place"
    config_class = ScriptedConfig
    watches_robot: ClassVar[bool] = True
    """Whether it needs the twin of the robot that it moves."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._door: Any = None
        self._path: Any = None
        self._way_home: Any = None
        self._left = 0.0
        self._was_told = False

    @property
    def action_features(self) -> Features:
        """The joints of an SO-101."""
        return {f"{name}.pos": float for name in SO_MOTORS}

    @property
    def is_connected(self) -> bool:
        """Whether it sees the twin."""
        return self._door is not None

    @property
    def is_calibrated(self) -> bool:
        """It has no motors."""
        return True

    def calibrate(self) -> None:
        """It has no motors."""

    def configure(self) -> None:
        """It has no motors."""

    def connect(self, calibrate: bool = True) -> None:
        """Find the twin, and plan."""
        from yardarm.robots.twins import open_door
        from yardarm.robots.twins.scenes.picking import Picking, picking_model

        self.require_disconnected()
        door = open_door(self.config.port) if self.config.port else None
        if door is None:
            raise UsageError(
                f"{self} moves twins only, and finds none on '{self.config.port}'; add --robot.port=twin "
                f"--twin.scene={SCENE}, or start one: yardarm twin --robot.type=so101_follower --twin.scene={SCENE}"
            )
        if door.spec.scene != SCENE:
            door.close()
            raise UsageError(f"{self} picks a cube, and this twin has none; start it with --twin.scene={SCENE}")
        model = picking_model()
        self._picking = Picking(model.spec().compile(), model.rest)
        self._door = door
        self._begin(door.state())

    def disconnect(self) -> None:
        """Look away."""
        self.require_connected()
        self._door.close()
        self._door = None

    def get_action(self) -> dict[str, Any]:
        """Where the joints should be at the twin's time."""
        self.require_connected()
        state = self._door.state()
        if state.episode != self._episode:
            self._begin(state)
        elif self._way_home is None and (self._was_told or self._is_over(state, UNASKED_S)):
            self._way_home, self._left = self._picking.way_home(state.qpos), state.seconds
        angles = self._path(state.seconds - self._began)
        if self._way_home is not None:
            angles = self._way_home(state.seconds - self._left)
        return {f"{name}.pos": self._value(name, angle) for name, angle in angles.items()}

    def get_teleop_events(self) -> dict[str, bool]:
        """Whether the episode is over, once for each; one that failed should be recorded again."""
        self.require_connected()
        state = self._door.state()
        is_over = not self._was_told and state.episode == self._episode and self._is_over(state)
        self._was_told = self._was_told or is_over
        return {
            "is_intervention": False,
            "terminate_episode": is_over,
            "success": is_over and state.success,
            "rerecord_episode": is_over and not state.success,
        }

    def _begin(self, state: Any) -> None:
        self._episode, self._began = state.episode, state.seconds
        self._path = self._picking.plan(state.qpos, self.config.seed + state.episode)
        self._way_home, self._was_told = None, False

    def _is_over(self, state: Any, more_s: float = 0.0) -> bool:
        return bool(state.seconds - self._began >= self._path.seconds + SETTLED_S + more_s)

    def _value(self, name: str, angle: float) -> float:
        """An angle in the unit that the robot's driver shows."""
        from yardarm.robots.twins.mounting import shown_value

        unit = SO_MOTORS[name].unit
        if unit == BODY:
            unit = DEGREES if self.config.use_degrees else SIGNED_PERCENT
        return shown_value(angle, self._door.spec.ranges[name], unit)
