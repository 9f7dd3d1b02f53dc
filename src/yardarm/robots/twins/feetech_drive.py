"""The drive of an STS motor."""

from __future__ import annotations

from yardarm.robots.twins.drive import COOLED_C, REST_RAD_S, Drive, Settings
from yardarm.robots.twins.mounting import RAD_PER_STEP
from yardarm.robots.twins.servo import FeetechServo

__all__ = ["FeetechDrive"]

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
