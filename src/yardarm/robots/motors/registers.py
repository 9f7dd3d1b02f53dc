"""The registers of the motors, by the names that their vendors and LeRobot use: address, bytes, sign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from yardarm.errors import UsageError, nearest

__all__ = ["DYNAMIXEL_X", "FEETECH_SCS", "FEETECH_STS", "MODELS", "Model", "Register", "model", "require_known"]


@dataclass(frozen=True, slots=True)
class Register:
    """Where a value is kept in a motor, and how."""

    address: int
    size: int
    sign_bit: int | None = None
    """The bit that says a number is negative, in sign-magnitude; None: there is none."""
    signed: bool = False
    """Whether it is a number in two's complement."""


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of motor."""

    number: int
    """What it answers when it is asked for its model."""
    registers: Mapping[str, Register]
    resolution: int = 4096
    """Steps of a turn."""


FEETECH_STS = {
    "Firmware_Major_Version": Register(0, 1),
    "Firmware_Minor_Version": Register(1, 1),
    "Model_Number": Register(3, 2),
    "ID": Register(5, 1),
    "Baud_Rate": Register(6, 1),
    "Return_Delay_Time": Register(7, 1),
    "Response_Status_Level": Register(8, 1),
    "Min_Position_Limit": Register(9, 2),
    "Max_Position_Limit": Register(11, 2),
    "Max_Temperature_Limit": Register(13, 1),
    "Max_Voltage_Limit": Register(14, 1),
    "Min_Voltage_Limit": Register(15, 1),
    "Max_Torque_Limit": Register(16, 2),
    "Phase": Register(18, 1),
    "Unloading_Condition": Register(19, 1),
    "LED_Alarm_Condition": Register(20, 1),
    "P_Coefficient": Register(21, 1),
    "D_Coefficient": Register(22, 1),
    "I_Coefficient": Register(23, 1),
    "Minimum_Startup_Force": Register(24, 2),
    "CW_Dead_Zone": Register(26, 1),
    "CCW_Dead_Zone": Register(27, 1),
    "Protection_Current": Register(28, 2),
    "Angular_Resolution": Register(30, 1),
    "Homing_Offset": Register(31, 2, sign_bit=11),
    "Operating_Mode": Register(33, 1),
    "Protective_Torque": Register(34, 1),
    "Protection_Time": Register(35, 1),
    "Overload_Torque": Register(36, 1),
    "Over_Current_Protection_Time": Register(38, 1),
    "Torque_Enable": Register(40, 1),
    "Acceleration": Register(41, 1),
    "Goal_Position": Register(42, 2, sign_bit=15),
    "Goal_Time": Register(44, 2),
    "Goal_Velocity": Register(46, 2, sign_bit=15),
    "Torque_Limit": Register(48, 2),
    "Lock": Register(55, 1),
    "Present_Position": Register(56, 2, sign_bit=15),
    "Present_Velocity": Register(58, 2, sign_bit=15),
    "Present_Load": Register(60, 2, sign_bit=10),
    "Present_Voltage": Register(62, 1),
    "Present_Temperature": Register(63, 1),
    "Status": Register(65, 1),
    "Moving": Register(66, 1),
    "Present_Current": Register(69, 2),
    "Maximum_Acceleration": Register(85, 1),
}
# No homing offset, no operating modes, no signs; some registers lie elsewhere.
FEETECH_SCS = {
    **{
        name: Register(register.address, register.size)
        for name, register in FEETECH_STS.items()
        if name not in ("Homing_Offset", "Operating_Mode", "Maximum_Acceleration", "Over_Current_Protection_Time")
    },
    "Protective_Torque": Register(37, 1),
    "Protection_Time": Register(38, 1),
    "Running_Time": Register(44, 2),
    "Lock": Register(48, 1),
}
DYNAMIXEL_X = {
    "Model_Number": Register(0, 2),
    "Firmware_Version": Register(6, 1),
    "ID": Register(7, 1),
    "Baud_Rate": Register(8, 1),
    "Return_Delay_Time": Register(9, 1),
    "Drive_Mode": Register(10, 1),
    "Operating_Mode": Register(11, 1),
    "Homing_Offset": Register(20, 4, signed=True),
    "Temperature_Limit": Register(31, 1),
    "Max_Voltage_Limit": Register(32, 2),
    "Min_Voltage_Limit": Register(34, 2),
    "PWM_Limit": Register(36, 2),
    "Current_Limit": Register(38, 2),
    "Velocity_Limit": Register(44, 4),
    "Max_Position_Limit": Register(48, 4),
    "Min_Position_Limit": Register(52, 4),
    "Shutdown": Register(63, 1),
    "Torque_Enable": Register(64, 1),
    "LED": Register(65, 1),
    "Status_Return_Level": Register(68, 1),
    "Hardware_Error_Status": Register(70, 1),
    "Velocity_I_Gain": Register(76, 2),
    "Velocity_P_Gain": Register(78, 2),
    "Position_D_Gain": Register(80, 2),
    "Position_I_Gain": Register(82, 2),
    "Position_P_Gain": Register(84, 2),
    "Bus_Watchdog": Register(98, 1),
    "Goal_PWM": Register(100, 2, signed=True),
    "Goal_Current": Register(102, 2, signed=True),
    "Goal_Velocity": Register(104, 4, signed=True),
    "Profile_Acceleration": Register(108, 4),
    "Profile_Velocity": Register(112, 4),
    "Goal_Position": Register(116, 4, signed=True),
    "Moving": Register(122, 1),
    "Present_Current": Register(126, 2, signed=True),
    "Present_Velocity": Register(128, 4, signed=True),
    "Present_Position": Register(132, 4, signed=True),
    "Present_Input_Voltage": Register(144, 2),
    "Present_Temperature": Register(146, 1),
}

MODELS = {
    "sts3215": Model(777, FEETECH_STS),
    "sts3250": Model(2825, FEETECH_STS),
    "sm8512bl": Model(11272, FEETECH_STS),
    "scs0009": Model(1284, FEETECH_SCS, resolution=1024),
    "xl330-m077": Model(1190, DYNAMIXEL_X),
    "xl330-m288": Model(1200, DYNAMIXEL_X),
    "xl430-w250": Model(1060, DYNAMIXEL_X),
    "xm430-w350": Model(1020, DYNAMIXEL_X),
    "xm540-w270": Model(1120, DYNAMIXEL_X),
    "xc430-w150": Model(1070, DYNAMIXEL_X),
    "xh540-w150": Model(1110, DYNAMIXEL_X),
    "xc330-t288": Model(1220, DYNAMIXEL_X),
    "xc330-t181": Model(1210, DYNAMIXEL_X),
}


def require_known(models: Iterable[str]) -> None:
    """Refuse a driver's motors of an unknown model."""
    for name in models:
        if name not in MODELS:
            raise UsageError(f"unknown motor model '{name}'{nearest(name, MODELS)} known are {', '.join(MODELS)}")


def model(number: int) -> str:
    """The name of the model with a number; "unknown model N" if there is none."""
    return next((name for name, own in MODELS.items() if own.number == number), f"unknown model {number}")
