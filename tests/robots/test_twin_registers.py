"""What a twin's motors keep, refuse and forget."""

from __future__ import annotations

import pytest

from yardarm.robots.motors.registers import DYNAMIXEL_X, FEETECH_STS
from yardarm.robots.twins.factory import new_servo
from yardarm.robots.twins.servo import ACCESS, LIMIT, Servo


def write(servo: Servo, name: str, value: int) -> int:
    own = servo.registers[name]
    return servo.write(own.address, (value % (1 << 8 * own.size)).to_bytes(own.size, "little"))


def test_a_locked_feetech_forgets_what_was_written_when_the_power_goes() -> None:
    servo = new_servo("sts3215")
    write(servo, "P_Coefficient", 16)
    assert servo.get("P_Coefficient") == 16
    servo.power_cycle()
    assert servo.get("P_Coefficient") == 32


def test_an_unlocked_feetech_keeps_it_and_wakes_up_locked() -> None:
    servo = new_servo("sts3215")
    write(servo, "Lock", 0)
    write(servo, "P_Coefficient", 16)
    write(servo, "Max_Torque_Limit", 500)
    write(servo, "Acceleration", 7)
    servo.power_cycle()
    assert (servo.get("P_Coefficient"), servo.get("Lock"), servo.get("Acceleration")) == (16, 1, 0)
    assert servo.get("Torque_Limit") == 500, "the torque limit begins at the largest one"


def test_a_dynamixel_refuses_its_eeprom_with_torque_on() -> None:
    servo = new_servo("xl430-w250")
    assert write(servo, "Torque_Enable", 1) == 0
    assert write(servo, "Operating_Mode", 4) == ACCESS
    assert servo.get("Operating_Mode") == 3
    assert write(servo, "Torque_Enable", 0) == 0
    assert write(servo, "Operating_Mode", 4) == 0
    servo.power_cycle()
    assert (servo.get("Operating_Mode"), servo.get("Position_P_Gain")) == (4, 800)


def test_a_dynamixel_refuses_a_goal_beyond_its_limits_in_position_mode_only() -> None:
    servo = new_servo("xl330-m288")
    assert write(servo, "Goal_Position", 5000) == LIMIT
    write(servo, "Operating_Mode", 4)
    assert write(servo, "Goal_Position", 5000) == 0


def test_a_feetech_goes_no_farther_than_its_limits() -> None:
    servo = new_servo("sts3215")
    servo.set("Min_Position_Limit", 1000)
    servo.set("Max_Position_Limit", 3000)
    write(servo, "Goal_Position", 3900)
    assert servo.goal_shaft == 3000
    write(servo, "Goal_Position", 10)
    assert servo.goal_shaft == 1000


@pytest.mark.parametrize("model", ["sts3215", "xl430-w250"])
def test_torque_holds_where_the_motor_is_and_not_where_it_was_sent_long_ago(model: str) -> None:
    servo = new_servo(model)
    write(servo, "Goal_Position", 100)
    write(servo, "Torque_Enable", 1)
    assert servo.goal_shaft == servo.shaft
    write(servo, "Goal_Position", 100)
    write(servo, "Torque_Enable", 1)  # it is on already
    assert servo.goal_shaft == 100


def test_feetech_makes_the_present_position_the_middle_when_it_is_told_to() -> None:
    servo = new_servo("sts3215")
    servo.shaft = 3500
    write(servo, "Torque_Enable", 128)
    assert servo.present_position() == 2048
    assert servo.get("Torque_Enable") == 0


@pytest.mark.parametrize("model", ["sts3215", "xl430-w250"])
@pytest.mark.parametrize("offset", [0, 700, -1500])
def test_a_position_and_its_shaft_belong_together(model: str, offset: int) -> None:
    servo = new_servo(model)
    servo.set_signed("Homing_Offset", offset)
    if model != "sts3215":
        servo.set("Drive_Mode", 1)
    servo.shaft = round(servo.shaft_at(1234))
    assert servo.present_position() == 1234


def test_signed_registers_are_read_as_they_are_written() -> None:
    for model, registers in (("sts3215", FEETECH_STS), ("xl330-m288", DYNAMIXEL_X)):
        servo = new_servo(model)
        for name, own in registers.items():
            if own.signed or own.sign_bit is not None:
                servo.set_signed(name, -77)
                assert servo.get_signed(name) == -77, name


def test_writing_past_the_end_of_the_memory_changes_nothing_else() -> None:
    servo = new_servo("sts3215")
    servo.write(250, bytes(range(20)))
    assert len(servo.memory) == 256
