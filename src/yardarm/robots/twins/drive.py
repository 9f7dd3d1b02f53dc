"""What a motor does with its registers: how it pulls its shaft, and what it measures and protects meanwhile.

registers ──▶ pull(position) ──▶ Pull (a spring, a brake, a limit) ──▶ the arm moves ──▶ measure(…) ──▶ registers
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from yardarm.robots.twins.mounting import RAD_PER_STEP, Mounting
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo
from yardarm.robots.twins.strength import Strength

__all__ = ["Drive", "Pull", "drive_of"]

ROOM_C = 31.0
# A motor that stalls for ever would become this much warmer than the room, and is two thirds there after the time.
STALLED_WARMER_C, WARMING_S = 90.0, 300.0
# An overheated motor works again when it is this much cooler than its limit.
COOLED_C = 5.0
# What the cable and the supply lose with each ampere.
SUPPLY_OHM = 0.1
# Slower than this, a motor calls itself at rest.
REST_RAD_S = 0.02
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
            self.load = self.current_a = 0.0
        self._warm(seconds)
        self._protect(seconds)
        shaft_speed = self.servo.direction_of(self.mounting.direction * speed)
        shaft_load = self.servo.direction_of(self.mounting.direction * self.load)
        self._note(shaft_speed, shaft_load)

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


# Nm per radian for each unit of P_Coefficient, Nm per rad/s for each of D_Coefficient. The SO-101's published
# simulation model has 998.22 and 2.731, computed for a P of 16; D was LeRobot's 32.
STS_STIFFNESS, STS_BRAKE = 998.22 / 16, 2.731 / 32
STS_MODES = {0: "position", 1: "speed", 2: "torque"}
STS_STEPS_PER_ACCELERATION = 100
STS_AMPERE = 0.0065


class FeetechDrive(Drive):
    """STS motors: always on a ramp to their goal; they yield when overloaded, and say so in every answer."""

    servo: FeetechServo

    def _read(self) -> Settings:
        servo = self.servo
        mode = STS_MODES.get(servo.get("Operating_Mode"), "position")
        fastest = self.strength.speed_rad_s
        speed = servo.get_signed("Goal_Velocity") * RAD_PER_STEP
        acceleration = servo.get("Acceleration") * STS_STEPS_PER_ACCELERATION * RAD_PER_STEP
        if mode == "position":
            goal = self.mounting.angle(servo.goal_shaft)
        elif mode == "speed":
            goal = self.mounting.direction * min(max(speed, -fastest), fastest)
        else:  # Goal_Time holds the share of the voltage, with its sign in bit 10
            raw = servo.get("Goal_Time")
            goal = self.mounting.direction * (-1 if raw & 0x400 else 1) * min(raw & 0x3FF, 1000) / 1000
        return Settings(
            has_torque=servo.get("Torque_Enable") == 1,
            mode=mode,
            stiffness=STS_STIFFNESS * servo.get("P_Coefficient"),
            brake=STS_BRAKE * servo.get("D_Coefficient"),
            share=min(servo.get("Max_Torque_Limit"), servo.get("Torque_Limit"), 1000) / 1000,
            speed=min(abs(speed) or fastest, fastest),
            acceleration=acceleration or 254 * STS_STEPS_PER_ACCELERATION * RAD_PER_STEP,
            goal=goal,
        )

    def _share(self, own: Settings) -> float:
        unloads = self.servo.get("Unloading_Condition")
        if self.alarms & self.heat_bit & unloads:
            return 0.0
        if self.alarms & self.overload_bit:
            ahead = own.goal - (self._setpoint if self._setpoint is not None else own.goal)
            if own.mode == "position" and ahead * self._overload_direction < 0:
                self._clear_overload()  # it was sent back
            elif unloads & self.overload_bit:
                return min(own.share, self.servo.get("Protective_Torque") / 100)
        return own.share

    def _protect(self, seconds: float) -> None:
        servo = self.servo
        self._watch_load(servo.get("Overload_Torque") / 100, servo.get("Protection_Time") / 100, seconds)
        limit = servo.get("Max_Temperature_Limit") - (COOLED_C if self.alarms & self.heat_bit else 0)
        self._complain(self.heat_bit, self.temperature_c > limit)

    def _note(self, speed: float, load: float) -> None:
        servo = self.servo
        servo.set_signed("Present_Velocity", round(speed / RAD_PER_STEP))
        servo.set_signed("Present_Load", round(1000 * load))
        servo.set("Present_Current", round(self.current_a / STS_AMPERE))
        servo.set("Present_Temperature", round(self.temperature_c))
        servo.set("Moving", int(abs(speed) > REST_RAD_S))

    def _note_voltage(self, tenths: int) -> None:
        servo = self.servo
        servo.set("Present_Voltage", min(tenths, 255))
        fits = servo.get("Min_Voltage_Limit") <= tenths <= servo.get("Max_Voltage_Limit")
        self._complain(self.voltage_bit, not fits)

    def _show_alarms(self, bit: int, is_wrong: bool) -> None:
        self.servo.error = self.servo.error | bit if is_wrong else self.servo.error & ~bit
        self.servo.set("Status", self.alarms)


X_MODES = {0: "torque", 1: "speed", 16: "torque"}
FULL_PWM = 885
# A step of error gives P/128 of 885; the loop runs a thousand times a second, and a step per turn of it gives D/16.
X_STIFFNESS = 1 / 128 / FULL_PWM / RAD_PER_STEP
X_BRAKE = 1 / 16 / FULL_PWM / RAD_PER_STEP / 1000
X_RPM = 0.229
X_ACCELERATION = 214.577 * 2 * math.pi / 3600
# They stop when they have worked at their limit for so long.
X_OVERLOAD, X_OVERLOAD_S = 0.9, 2.0
ALERT = 0x80


class DynamixelDrive(Drive):
    """X series: a soft spring to the goal; when something is wrong they let go, and must be rebooted."""

    servo: DynamixelServo

    @property
    def _measures_current(self) -> bool:
        return "430-w250" not in self.servo.model and "430-w150" not in self.servo.model

    def _read(self) -> Settings:
        servo, strength = self.servo, self.strength
        raw_mode = servo.get("Operating_Mode")
        mode = X_MODES.get(raw_mode, "position")
        amperes = servo.get_signed("Goal_Current") / 1000
        share = min(servo.get("PWM_Limit"), abs(servo.get_signed("Goal_PWM")), FULL_PWM) / FULL_PWM
        if raw_mode in (0, 5):
            share = min(share, servo.get("Current_Limit") / 1000 / strength.current_a)
        if raw_mode == 5:
            share = min(share, abs(amperes) / strength.current_a)
        direction = servo.direction_of(self.mounting.direction)
        if mode == "position":
            goal = self.mounting.angle(servo.goal_shaft)
        elif mode == "speed":
            goal = direction * servo.get_signed("Goal_Velocity") * X_RPM * RPM
        elif raw_mode == 0:
            goal = direction * amperes / strength.current_a
        else:
            goal = direction * servo.get_signed("Goal_PWM") / FULL_PWM
        return Settings(
            has_torque=servo.get("Torque_Enable") == 1,
            mode=mode,
            stiffness=strength.torque_nm * X_STIFFNESS * servo.get("Position_P_Gain"),
            brake=strength.torque_nm * (X_BRAKE * servo.get("Position_D_Gain") if mode == "position" else 10.0),
            share=share,
            speed=servo.get("Profile_Velocity") * X_RPM * RPM or math.inf,
            acceleration=servo.get("Profile_Acceleration") * X_ACCELERATION or 1e6,
            goal=goal,
        )

    def _share(self, own: Settings) -> float:
        return own.share

    def _protect(self, seconds: float) -> None:
        servo = self.servo
        self._watch_load(X_OVERLOAD, X_OVERLOAD_S, seconds)
        if self.temperature_c > servo.get("Temperature_Limit"):
            self._complain(self.heat_bit, True)
        if self.alarms & servo.get("Shutdown") and servo.get("Torque_Enable"):
            servo.set("Torque_Enable", 0)
            servo.writes += 1

    def _listen(self) -> None:
        """Only a reboot, which forgets the registers, ends a protection."""
        if self.alarms and not self.servo.get("Hardware_Error_Status"):
            self.alarms, self._overloaded_s = 0, 0.0

    def _note(self, speed: float, load: float) -> None:
        servo = self.servo
        servo.set_signed("Present_Velocity", round(speed / RPM / X_RPM))
        milliamperes = math.copysign(1000 * self.current_a, load)
        servo.set_signed("Present_Current", round(milliamperes if self._measures_current else 1000 * load))
        servo.set("Present_Temperature", round(self.temperature_c))
        servo.set("Moving", int(abs(speed) > REST_RAD_S))

    def _note_voltage(self, tenths: int) -> None:
        servo = self.servo
        servo.set("Present_Input_Voltage", tenths)
        if not servo.get("Min_Voltage_Limit") <= tenths <= servo.get("Max_Voltage_Limit"):
            self._complain(self.voltage_bit, True)

    def _show_alarms(self, bit: int, is_wrong: bool) -> None:
        self.servo.set("Hardware_Error_Status", self.alarms)
        self.servo.error = ALERT if self.alarms else 0


def drive_of(servo: Servo, mounting: Mounting, strength: Strength) -> Drive:
    """The drive that a motor has inside."""
    return (DynamixelDrive if isinstance(servo, DynamixelServo) else FeetechDrive)(servo, mounting, strength)
