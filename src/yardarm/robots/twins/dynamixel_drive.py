"""The drive of an X series motor."""

from __future__ import annotations

import math

from yardarm.robots.twins.drive import REST_RAD_S, RPM, Drive, Settings
from yardarm.robots.twins.mounting import RAD_PER_STEP
from yardarm.robots.twins.servo import DynamixelServo

__all__ = ["DynamixelDrive"]

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
