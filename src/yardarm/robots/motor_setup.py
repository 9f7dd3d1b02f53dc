"""The motors of a new arm get their ids: a person plugs in one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.errors import BusFault
from yardarm.robots.motors.setup import FoundMotor, find_motors, give_id, is_set_up
from yardarm.robots.operator import Operator

if TYPE_CHECKING:
    from yardarm.robots.bus_device import BusDevice
    from yardarm.robots.motors import MotorBus

__all__ = ["set_up_motors"]


def set_up_motors(device: BusDevice, operator: Operator) -> None:
    """Ask for each motor alone, the last joint first, until it has its id; the port must be open."""
    bus = device.bus
    given: dict[int, str] = {}
    operator.say(
        f"{device} has {len(bus.motors)} motors. Each is connected alone, the last one first. If you stop half-way, "
        "run this again: motors that have their ids already keep them."
    )
    for name, motor in reversed(bus.motors.items()):
        question = (
            f"Connect {name} ({motor.model}) to the controller board, and no other motor; switch the power on, then "
            "press ENTER (or type s and ENTER to skip it):"
        )
        while operator.ask(question).strip().lower() != "s":
            try:
                done = _set_up(bus, name, given)
            except _NotYet as problem:
                operator.say(f"Not yet: {problem}")
            except BusFault as fault:
                operator.say(f"Not yet: {fault}")
                bus.line.close()  # the USB cable may have been unplugged, too
            else:
                given[motor.id] = name
                operator.say(done)
                break
    if len(given) == len(bus.motors):
        operator.say(f"All motors of {device} have their ids. Connect them all, and calibrate: `yardarm calibrate`")


class _NotYet(Exception):
    """Why the motor that is plugged in cannot be set up."""


def _set_up(bus: MotorBus, name: str, given: dict[int, str]) -> str:
    """Give the only motor on the cable its id, and see that it has it; returns what to say."""
    if not bus.is_connected:
        bus.line.open()
    found, motor = _only_motor(bus), bus.motors[name]
    if found.model != motor.model:
        raise _NotYet(f"the motor with id {found.id} is a {found.model}, but {name} must be a {motor.model}")
    if found.id != motor.id and found.id in given:
        raise _NotYet(f"this is {given[found.id]} (id {found.id}), which is done; unplug it, and plug in {name}")
    if found.id == motor.id and is_set_up(bus, name):
        return f"{name} has the id {motor.id} already."
    give_id(bus, name, found)
    if not is_set_up(bus, name):
        raise _NotYet(f"{name} does not answer under its new id {motor.id}; switch its power off and on, and try again")
    return f"{name} has the id {motor.id} now (it had {found.id}, at {found.baud_rate} baud)."


def _only_motor(bus: MotorBus) -> FoundMotor:
    found = find_motors(bus)
    if not found:
        raise _NotYet("no motor answers at any baud rate; check its cable and the power supply")
    if len(found) > 1:
        ids = ", ".join(str(own.id) for own in found)
        raise _NotYet(f"{len(found)} motors answer, with the ids {ids}; leave only one connected")
    return found[0]
