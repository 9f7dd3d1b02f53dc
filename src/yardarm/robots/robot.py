"""What a robot is: it is observed, and it acts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import UsageError, nearest
from yardarm.robots.bus_device import BusDevice, BusDeviceConfig, joint_name
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.rig import CameraRig
from yardarm.robots.clock import Clock, HostClock
from yardarm.robots.device import Device, DeviceConfig, Features
from yardarm.robots.motors import MotorHealth
from yardarm.robots.places import ROBOTS_FOLDER
from yardarm.robots.reading import Reading

__all__ = ["BusRobot", "BusRobotConfig", "Robot", "closer_goals"]

Cap = float | dict[str, float]


class Robot(Device):
    """A robot. Observations and actions are flat: ``{"gripper.pos": 12.5, "front": picture}``."""

    folder = ROBOTS_FOLDER
    clock: Clock = HostClock()
    """What its readings are timed by."""

    @property
    @abstractmethod
    def observation_features(self) -> Features:
        """What an observation has; known before it is connected."""

    @property
    @abstractmethod
    def action_features(self) -> Features:
        """What an action has; known before it is connected."""

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """Its cameras, by name."""
        return {}

    def check_cameras(self) -> None:
        """Raise `UsageError` if a camera cannot be opened, as far as that is clear before anything is connected."""
        for camera in self.cameras.values():
            camera.check()

    def use_clock(self, clock: Clock) -> None:
        """Tell the time by this clock from now on, in all its parts; call it before `connect`."""
        self.clock = clock
        for camera in self.cameras.values():
            camera.clock = clock

    @property
    def robot_type(self) -> str:
        """Its kind, as datasets name it."""
        return self.name

    @abstractmethod
    def get_observation(self) -> dict[str, Any]:
        """Where it is, and what it sees, now; raises `StaleFrame` if a camera's newest picture is too old for that."""

    def observe(self) -> Reading:
        """The same with its times, and with a camera's newest picture however old it is: who gets times can judge."""
        return Reading(self.get_observation(), self.clock.now())

    @abstractmethod
    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to act, and return what was really sent."""

    # What `Guarded` needs to protect it. A robot that cannot tell is guarded by what it can.

    @property
    def action_units(self) -> dict[str, str]:
        """The units of an action's positions, as far as they are known."""
        return {}

    def positions(self) -> dict[str, float]:
        """Where the joints are."""
        return {name: value for name, value in self.get_observation().items() if name in self.action_features}

    def health(self) -> dict[str, MotorHealth | None]:
        """How its motors are, by the names of their joints: None if one does not answer; nothing, if it cannot tell."""
        return {}


@dataclass
class BusRobotConfig(BusDeviceConfig):
    """Flags of every robot arm on a bus."""

    disable_torque_on_disconnect: bool = option(True, "release the motors at the end; the arm falls")
    max_relative_target: Cap | None = option(
        None, "how far a joint may be sent from where it is, in its unit; one number, or one for each joint"
    )
    use_degrees: bool = option(True, "joints in degrees; false: −100 to 100 of their range")
    cameras: dict[str, CameraConfig] = field(
        default_factory=dict,
        metadata={"help": "such as {front: {type: opencv, index_or_path: 0, width: 640, height: 480, fps: 30}}"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cap = self.max_relative_target
        for value in cap.values() if isinstance(cap, dict) else () if cap is None else (cap,):
            if not value >= 0:  # NaN is not, either
                raise UsageError(f"max_relative_target must not be negative, got {value}")


class BusRobot(BusDevice, Robot):
    """A robot arm whose motors are on one bus."""

    config_class: ClassVar[type[DeviceConfig]] = BusRobotConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._rig = CameraRig(config.cameras, self.joint_features)
        for camera in self.cameras.values():
            camera.belongs_to(config.port)
        cap = config.max_relative_target
        for name in cap if isinstance(cap, dict) else ():
            if joint_name(name) not in self.motors:
                known = f"{nearest(joint_name(name), self.motors)} it has {', '.join(self.motors)}"
                raise UsageError(f"{self}: max_relative_target names '{name}'{known}")

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """Its cameras, by name."""
        return self._rig.cameras

    @property
    def observation_features(self) -> Features:
        """The joints, and what the cameras give."""
        return {**self.joint_features, **self._rig.features}

    @property
    def action_features(self) -> Features:
        """The joints."""
        return self.joint_features

    @property
    def action_units(self) -> dict[str, str]:
        """The units of the joints."""
        return {f"{name}.pos": motor.unit for name, motor in self.bus.motors.items()}

    def health(self) -> dict[str, MotorHealth | None]:
        """How its motors are."""
        self.require_connected()
        return self.bus.health()

    def get_observation(self) -> dict[str, Any]:
        """The joints' positions, and the cameras' pictures."""
        return self._rig.fresh_values(self.observe())

    def observe(self) -> Reading:
        """The joints' positions and the cameras' newest pictures, with their times."""
        positions = self.positions()
        return self._rig.reading(positions, self.clock.now())

    def _connect_more(self) -> None:
        self._rig.connect()

    def _leave(self, release: bool) -> None:
        """Leave the arm first: a camera that does not stop must not keep it from being released."""
        try:
            super()._leave(release)
        finally:
            self._rig.disconnect()

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send joints to their goals, no farther than allowed, and return the goals that were sent."""
        self.require_connected()
        goals = self.goals(action)
        if self.config.max_relative_target is not None:
            present = {joint_name(name): value for name, value in self.positions().items()}
            goals = closer_goals(goals, present, self.config.max_relative_target)
        self.bus.sync_write("Goal_Position", goals)
        return {f"{name}.pos": self.bus.scale(name).reachable(goal) for name, goal in goals.items()}

    @property
    def releases_at_the_end(self) -> bool:
        """Whether its motors are without torque after `disconnect`."""
        return bool(self.config.disable_torque_on_disconnect)


def closer_goals(goals: Mapping[str, float], present: Mapping[str, float], cap: Cap) -> dict[str, float]:
    """Goals no farther from the present than `cap`; a map may name its joints with or without ``.pos``."""
    each = cap if isinstance(cap, dict) else dict.fromkeys(goals, cap)
    caps = {joint_name(name): value for name, value in each.items()}
    if caps.keys() != goals.keys():
        raise UsageError(
            f"max_relative_target is for {', '.join(caps)}, but the action is for {', '.join(goals)}; both must name "
            "the same joints"
        )
    return {
        name: present[name] + min(max(goal - present[name], -caps[name]), caps[name]) for name, goal in goals.items()
    }
