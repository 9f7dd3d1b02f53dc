"""What a motor does with its registers: how it pulls its shaft, and what it measures and protects meanwhile.

registers ──▶ pull(position) ──▶ Pull (a spring, a brake, a limit) ──▶ the arm moves ──▶ measure(…) ──▶ registers
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from yardarm.robots.twins.mounting import Mounting
from yardarm.robots.twins.servo import Servo
from yardarm.robots.twins.strength import Strength

__all__ = ["COOLED_C", "REST_RAD_S", "RPM", "Drive", "Pull", "Settings"]

ROOM_C = 31.0
# A motor that stalls for ever would become this much warmer than the room, and is two thirds there after the time.
STALLED_WARMER_C, WARMING_S = 90.0, 300.0
# An overheated motor works again when it is this much cooler than its limit.
COOLED_C = 5.0
# What the cable and the supply lose with each ampere.
SUPPLY_OHM = 0.1
# Slower than this, a motor calls itself at rest.
REST_RAD_S = 0.02
# A load is shown as its mean over about so long: between two goals of a loop, a stiff motor pulls to and fro.
LOAD_S = 0.1
RPM = 2 * math.pi / 60


@dataclass(frozen=True, slots=True)
class Pull:
    """What a motor does to its joint: torque = push − stiffness · angle − brake · speed, up to a limit."""

    push: float = 0.0
    stiffness: float = 0.0
    brake: float = 0.0
    limit: float = 0.0


NOTHING = Pull()


@dataclass(slots=True)
class Settings:
    """What the registers ask for, in the joint's units."""

    has_torque: bool
    mode: str
    stiffness: float
    brake: float
    share: float
    """How much of the motor's torque may be used, 0 to 1."""
    speed: float
    """The largest speed of the way to a goal; infinite: it jumps."""
    acceleration: float
    goal: float
    """An angle, a speed, or a share of the torque."""


class Drive(ABC):
    """A motor's own control loop, and its health."""

    overload_bit: ClassVar[int] = 0x20
    heat_bit: ClassVar[int] = 0x04
    voltage_bit: ClassVar[int] = 0x01

    def __init__(self, servo: Servo, mounting: Mounting, strength: Strength) -> None:
        self.servo, self.mounting, self.strength = servo, mounting, strength
        self.temperature_c = ROOM_C
        self.current_a = 0.0
        self.load = 0.0
        """The share of its torque that it gives, −1 to 1."""
        self.alarms = 0
        self._shown_load = 0.0
        self._overloaded_s = 0.0
        self._overload_direction = 0.0
        self._orders = servo.torque_orders
        self._read_at = -1
        self._settings = self._read()
        self._setpoint: float | None = None
        self._speed = 0.0

    @property
    def has_torque(self) -> bool:
        """Whether it holds its joint."""
        return bool(self.servo.get("Torque_Enable"))

    def pull(self, angle: float, seconds: float) -> Pull:
        """What it does to its joint for the next moment."""
        if self._read_at != self.servo.writes:
            self._settings, self._read_at = self._read(), self.servo.writes
            self._listen()
        own = self._settings
        share = self._share(own)
        if not own.has_torque or not share:
            self._setpoint = None
            return NOTHING
        limit = share * self.strength.torque_nm
        if own.mode == "torque":
            return Pull(own.goal * self.strength.torque_nm, limit=limit)
        if own.mode == "speed":
            return Pull(own.goal * own.brake, brake=own.brake, limit=limit)
        self._follow(own, angle, seconds)
        assert self._setpoint is not None
        return Pull(own.stiffness * self._setpoint, own.stiffness, own.brake, limit)

    def measure(self, angle: float, speed: float, torque: float, seconds: float) -> None:
        """Note where the joint is and what it takes to be there, and protect the motor."""
        self.servo.shaft = round(self.mounting.shaft(angle))
        self.load = torque / self.strength.torque_nm
        # The motor's own loss with speed costs voltage, not current.
        self.current_a = self.strength.current_a * abs(torque - self.strength.damping * speed) / self.strength.torque_nm
        if not self._settings.has_torque:
            self.load = self.current_a = self._shown_load = 0.0
        self._warm(seconds)
        self._protect(seconds)
        shaft_speed = self.servo.direction_of(self.mounting.direction * speed)
        self._shown_load += (self.load - self._shown_load) * (1 - math.exp(-seconds / LOAD_S))
        shaft_load = self.servo.direction_of(self.mounting.direction * self._shown_load)
        self._note(shaft_speed, shaft_load)

    def inner_state(self) -> tuple[float, ...]:
        """What its next pulls depend on, besides its joint and the registers that nobody writes while it moves."""
        setpoint = math.nan if self._setpoint is None else self._setpoint
        goal, torque = self.servo.get("Goal_Position"), self.servo.get("Torque_Enable")
        inside = (setpoint, self._speed, self.temperature_c, self._overloaded_s, self._overload_direction)
        return (goal, torque, self.servo.shaft, self.alarms, *inside)

    def supply(self, others_a: float, share: float) -> None:
        """Have so much voltage: all motors on the cable draw from one supply, which may be weak."""
        volts = max(0.0, self.strength.supply_v * share - SUPPLY_OHM * others_a)
        self._note_voltage(round(10 * volts))

    def _listen(self) -> None:
        """An order about torque ends a protection."""
        if self._orders != self.servo.torque_orders:
            self._orders = self.servo.torque_orders
            self._clear_overload()

    def _follow(self, own: Settings, angle: float, seconds: float) -> None:
        """Move the setpoint to the goal, no faster than the registers allow."""
        if self._setpoint is None:
            self._setpoint, self._speed = angle, 0.0
        way = own.goal - self._setpoint
        if math.isinf(own.speed) or not way:
            self._setpoint, self._speed = own.goal, 0.0
            return
        wanted = math.copysign(min(own.speed, math.sqrt(2 * own.acceleration * abs(way))), way)
        change = own.acceleration * seconds
        self._speed = min(max(wanted, self._speed - change), self._speed + change)
        moved = self._speed * seconds
        self._setpoint = own.goal if abs(way) <= abs(moved) and moved * way > 0 else self._setpoint + moved

    def _warm(self, seconds: float) -> None:
        share = self.current_a / self.strength.current_a
        warmest = ROOM_C + STALLED_WARMER_C * share * share
        self.temperature_c += (warmest - self.temperature_c) * (1 - math.exp(-seconds / WARMING_S))

    def _complain(self, bit: int, is_wrong: bool) -> None:
        if bool(self.alarms & bit) != is_wrong:
            self.alarms ^= bit
            self._show_alarms(bit, is_wrong)

    def _watch_load(self, highest: float, longest_s: float, seconds: float) -> None:
        """Raise the alarm when the load has been too high for too long."""
        self._overloaded_s = self._overloaded_s + seconds if abs(self.load) > highest else 0.0
        if longest_s and self._overloaded_s >= longest_s:
            self._overload_direction = math.copysign(1.0, self.load)
            self._complain(self.overload_bit, True)

    def _clear_overload(self) -> None:
        self._overloaded_s = 0.0
        self._complain(self.overload_bit, False)

    @abstractmethod
    def _read(self) -> Settings:
        """Understand the registers."""

    @abstractmethod
    def _share(self, own: Settings) -> float:
        """How much of its torque it may use now."""

    @abstractmethod
    def _protect(self, seconds: float) -> None:
        """Look after the motor."""

    @abstractmethod
    def _note(self, speed: float, load: float) -> None:
        """Write what was measured into the registers."""

    @abstractmethod
    def _note_voltage(self, tenths: int) -> None:
        """Write the voltage into its register."""

    @abstractmethod
    def _show_alarms(self, bit: int, is_wrong: bool) -> None:
        """Complain, or stop complaining."""
