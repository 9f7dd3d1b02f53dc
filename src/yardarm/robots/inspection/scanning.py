"""Which motors answer on a port, whatever arm they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from yardarm.errors import RobotFault, UsageError
from yardarm.robots.making import ROBOTS, TELEOPERATORS
from yardarm.robots.motors import DynamixelBus, FeetechBus, MotorBus
from yardarm.robots.motors.register_bus import BAUD_RATE
from yardarm.robots.motors.setup import FoundMotor, find_motors_at

__all__ = ["BAUD_RATES", "BUSES", "PortScan", "ids_in_words", "scan_port"]

BUSES: Mapping[str, type[MotorBus]] = {"Feetech": FeetechBus, "Dynamixel": DynamixelBus}
# The speed of arms, then those of new motors and of careless set-ups: all within two seconds.
BAUD_RATES: Mapping[type[MotorBus], Sequence[int]] = {
    FeetechBus: (BAUD_RATE, 500_000, 115_200),
    DynamixelBus: (BAUD_RATE, 57_600, 2_000_000, 115_200),
}


@dataclass(frozen=True, slots=True)
class PortScan:
    """What answers on a port."""

    port: str
    vendor: str = ""
    motors: tuple[FoundMotor, ...] = ()
    problem: str = ""
    """Why the port could not be asked."""

    def in_words(self) -> str:
        """What it is, and which arm it looks like."""
        if self.problem:
            return self.problem
        if not self.motors:
            return "no motor answers; is the power on?"
        models = " and ".join(dict.fromkeys(motor.model for motor in self.motors))
        rate = self.motors[0].baud_rate
        speed = "" if rate == BAUD_RATE else f" at {rate} baud"
        ids = [motor.id for motor in self.motors]
        if len(ids) == 1:
            return f"1 {self.vendor} motor ({models}), id {ids[0]}{speed}{self._guess()}"
        return f"{len(ids)} {self.vendor} motors ({models}), ids {ids_in_words(ids)}{speed}{self._guess()}"

    def _guess(self) -> str:
        found = {motor.id: motor.model for motor in self.motors}
        arms = _arms()
        if types := [name for name, motors in arms.items() if motors == found]:
            return f": {_either(types)}"
        if len(found) == 1:
            return ": a new motor? `yardarm setup-motors` gives motors their ids"
        for name, motors in arms.items():
            if found.items() < motors.items():
                missing = ids_in_words(sorted(motors.keys() - found.keys()))
                return f": like {name}, but without id {missing}"
        return ""


def scan_port(port: str) -> PortScan:
    """Ask for motors in all ways that are common; nothing is changed."""
    for vendor, bus_class in BUSES.items():
        bus = bus_class(port, {})
        try:
            bus.connect(handshake=False)
            for baud_rate in BAUD_RATES[bus_class]:
                if found := find_motors_at(bus, baud_rate):
                    return PortScan(port, vendor, tuple(found))
        except RobotFault as fault:
            return PortScan(port, problem=str(fault).removeprefix(f"cannot open the port {port}: "))
        finally:
            bus.line.close()
    return PortScan(port)


def ids_in_words(ids: Sequence[int]) -> str:
    """``1–4, 6`` for 1, 2, 3, 4, 6."""
    runs: list[list[int]] = []
    for id in ids:
        if runs and runs[-1][-1] == id - 1:
            runs[-1].append(id)
        else:
            runs.append([id])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _arms() -> dict[str, dict[int, str]]:
    """The motors of all arms on a bus: id → model."""
    arms = {}
    for registry in (ROBOTS, TELEOPERATORS):
        for name in registry.names():
            try:
                motors = getattr(registry.load(name), "motors", None)
            except UsageError:
                continue  # somebody's package is broken, which is not the question here
            if motors:
                arms[name] = {motor.id: motor.model for motor in motors.values()}
    return arms


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
