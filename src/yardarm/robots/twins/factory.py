"""New motors, as they come from the factory, and the motors of an arm."""

from __future__ import annotations

from collections.abc import Mapping

from yardarm.robots.motors import MotorCalibration
from yardarm.robots.motors.register_bus import Motor
from yardarm.robots.motors.registers import DYNAMIXEL_X, MODELS
from yardarm.robots.twins.chain import DynamixelSide, FeetechSide, MotorChain
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo

__all__ = ["chain_of", "new_servo"]

FEETECH = {
    "Firmware_Major_Version": 3,
    "Firmware_Minor_Version": 10,
    "Return_Delay_Time": 250,
    "Response_Status_Level": 1,
    "Max_Position_Limit": 4095,
    "Max_Temperature_Limit": 70,
    "Max_Voltage_Limit": 140,
    "Min_Voltage_Limit": 40,
    "Max_Torque_Limit": 1000,
    "Phase": 12,
    "Unloading_Condition": 44,
    "LED_Alarm_Condition": 47,
    "P_Coefficient": 32,
    "D_Coefficient": 32,
    "Protection_Current": 500,
    "Angular_Resolution": 1,
    "Protective_Torque": 20,
    "Protection_Time": 200,
    "Overload_Torque": 80,
    "Torque_Limit": 1000,
    "Lock": 1,
    "Present_Voltage": 121,
    "Present_Temperature": 31,
}
DYNAMIXEL = {
    "Firmware_Version": 45,
    "Baud_Rate": 3,
    "Return_Delay_Time": 250,
    "Operating_Mode": 3,
    "Temperature_Limit": 72,
    "Max_Voltage_Limit": 160,
    "Min_Voltage_Limit": 60,
    "PWM_Limit": 885,
    "Current_Limit": 1750,
    "Velocity_Limit": 265,
    "Shutdown": 52,
    "Max_Position_Limit": 4095,
    "Status_Return_Level": 2,
    "Position_P_Gain": 800,
    "Goal_PWM": 885,
    "Goal_Current": 1750,
    "Present_Input_Voltage": 121,
    "Present_Temperature": 31,
}
# The small ones run on 5 V.
XL330 = {"Max_Voltage_Limit": 70, "Min_Voltage_Limit": 35, "Present_Input_Voltage": 50}


def new_servo(model: str, id: int = 1) -> Servo:
    """A motor as it comes from the factory, in the middle of its turn; `id` as if somebody had set it up."""
    is_dynamixel = MODELS[model].registers is DYNAMIXEL_X
    servo: Servo = DynamixelServo(b"") if is_dynamixel else FeetechServo(b"")
    own = FEETECH if not is_dynamixel else {**DYNAMIXEL, **XL330} if model.startswith("xl330") else DYNAMIXEL
    for name, value in {"Model_Number": MODELS[model].number, "ID": id, **own}.items():
        servo.set(name, value)
    servo.keep()
    servo.shaft = MODELS[model].resolution // 2
    return servo


def chain_of(motors: Mapping[str, Motor], calibration: Mapping[str, MotorCalibration] | None = None) -> MotorChain:
    """The motors of an arm on one cable, with their ids set up; with a calibration, that is in them, too."""
    servos = []
    for name, motor in motors.items():
        servo = new_servo(motor.model, motor.id)
        if calibration:
            servo.calibrate(calibration[name])
        servos.append(servo)
    side = DynamixelSide() if isinstance(servos[0], DynamixelServo) else FeetechSide()
    return MotorChain(servos, side)
