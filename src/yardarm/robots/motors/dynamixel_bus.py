"""Dynamixel's motors on a bus: the X series, protocol 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from yardarm.robots.motors.bus import MotorBus
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.dynamixel import DynamixelProtocol
from yardarm.robots.motors.health import HealthRegisters
from yardarm.robots.motors.registers import MODELS
from yardarm.robots.motors.sweep import half_turn
from yardarm.robots.motors.wire import Status, WireProtocol

__all__ = ["DynamixelBus"]


class DynamixelBus(MotorBus):
    """They know their drive mode, and keep the whole calibration."""

    protocol: ClassVar[WireProtocol] = DynamixelProtocol()
    baud_codes: ClassVar[Mapping[int, int]] = {
        9_600: 0,
        57_600: 1,
        115_200: 2,
        1_000_000: 3,
        2_000_000: 4,
        3_000_000: 5,
        4_000_000: 6,
    }
    applies_drive_mode = False
    wraps = False
    refuses_with_torque = True
    health_registers = HealthRegisters(
        "Present_Current",
        "Present_Temperature",
        "Present_Input_Voltage",
        temperature_limit="Temperature_Limit",
        load_limit="Current_Limit",
        without_load_limit=("xl430-w250", "xc430-w150"),  # they keep their load in the place of the current
    )
    torque_registers = ("Torque_Enable",)
    pong_size = 3

    def configure_motors(self) -> None:
        """Answer at once."""
        self.write_all("Return_Delay_Time", 0)

    @classmethod
    def keeps(cls, stored: MotorCalibration, calibration: MotorCalibration) -> bool:
        """They keep all of it."""
        return stored == calibration

    def read_calibration(self) -> dict[str, MotorCalibration]:
        """The calibration that the motors have."""
        offsets, lows, highs, modes = (
            self.sync_read(register)
            for register in ("Homing_Offset", "Min_Position_Limit", "Max_Position_Limit", "Drive_Mode")
        )
        return {
            name: MotorCalibration(motor.id, int(modes[name]), int(offsets[name]), int(lows[name]), int(highs[name]))
            for name, motor in self.motors.items()
        }

    def offset_to_middle(self, name: str, position: int) -> int:
        """A motor shows its bare position, perhaps reversed, plus the offset."""
        return half_turn(MODELS[self.motors[name].model].resolution) - position

    def moved_offset(self, offset: int, shift: int) -> int:
        """A smaller offset lowers readings."""
        return offset - shift

    def model_number(self, id: int, pong: Status) -> int:
        """The answer to a ping has it."""
        return int.from_bytes(pong.params[:2], "little")
