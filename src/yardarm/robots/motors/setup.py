"""New motors: all come from the factory with the same id, so each is found alone and given its own."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.errors import BusFault
from yardarm.robots.motors.bus import MotorBus
from yardarm.robots.motors.register_bus import BAUD_RATE
from yardarm.robots.motors.registers import MODELS, model
from yardarm.robots.motors.wire import Status

__all__ = ["LISTEN_S", "FoundMotor", "find_motors", "find_motors_at", "give_id", "is_set_up"]

# How long a motor may take to answer a change of its id, under the old id or the new one.
ANSWER_S = 0.05
# How long to listen for motors at one speed.
LISTEN_S = 0.2
RETRIES = 2


@dataclass(frozen=True, slots=True)
class FoundMotor:
    """A motor that has answered."""

    id: int
    model: str
    baud_rate: int


def find_motors(bus: MotorBus, seconds: float = LISTEN_S) -> list[FoundMotor]:
    """The motors that answer, at the first baud rate at which any does: the usual one, then all others."""
    try:
        for baud_rate in (BAUD_RATE, *(rate for rate in bus.baud_codes if rate != BAUD_RATE)):
            if found := find_motors_at(bus, baud_rate, seconds):
                return found
    finally:
        _to_usual_speed(bus)
    return []


def find_motors_at(bus: MotorBus, baud_rate: int, seconds: float = LISTEN_S) -> list[FoundMotor]:
    """The motors that answer at a baud rate."""
    try:
        bus.line.set_baud_rate(baud_rate)
    except (OSError, ValueError):
        return []  # the adapter cannot go at this speed
    pongs = bus.broadcast_ping(seconds)
    return [FoundMotor(id, _model(bus, id, pong), baud_rate) for id, pong in pongs.items()]


def _to_usual_speed(bus: MotorBus) -> None:
    try:
        bus.line.set_baud_rate(BAUD_RATE)
    except OSError as error:
        raise BusFault(f"the port {bus.port} is gone ({error}); plug the cable in again") from None


def _model(bus: MotorBus, id: int, pong: Status) -> str:
    try:
        return model(bus.model_number(id, pong))
    except BusFault:
        return "motor that does not say its model"


def give_id(bus: MotorBus, name: str, found: FoundMotor) -> None:
    """Make the motor that was found the one that the arm calls `name`, at the usual baud rate."""
    motor = bus.motors[name]
    bus.line.set_baud_rate(found.baud_rate)
    try:
        _write(bus, found.id, found.id, motor.model, "Torque_Enable", 0)
        if "Lock" in MODELS[motor.model].registers:
            _write(bus, found.id, found.id, motor.model, "Lock", 0)
        _write(bus, found.id, motor.id, motor.model, "ID", motor.id)
        _write(bus, motor.id, motor.id, motor.model, "Baud_Rate", bus.baud_codes[BAUD_RATE])
    finally:
        _to_usual_speed(bus)


def is_set_up(bus: MotorBus, name: str) -> bool:
    """Whether the motor answers under its id, at the usual baud rate, and is of the right model."""
    motor = bus.motors[name]
    pong = bus.ping(motor.id, RETRIES)
    return pong is not None and bus.model_number(motor.id, pong) == MODELS[motor.model].number


def _write(bus: MotorBus, id: int, id_after: int, model: str, register: str, value: int) -> None:
    """Write a register of a motor that is not the arm's yet. Who answers is heard, who does not is found out later."""
    own = MODELS[model].registers[register]
    request = bus.protocol.write(id, own.address, value.to_bytes(own.size, bus.byte_order))
    answers = bus.line.listen(request, dict.fromkeys((id, id_after), 0), ANSWER_S)
    for answer in answers.values():
        if refusal := bus.protocol.refusal(answer.error):
            raise BusFault(f"writing {register}: the motor with id {id} refused: {refusal}")
