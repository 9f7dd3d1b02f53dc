"""Measures cycles of a sync read and a sync write: our buses, and the vendors' SDKs as LeRobot uses them.

python benchmarks/motor_bus.py --output=benchmarks/2026-11-motor-bus.md
python benchmarks/motor_bus.py --scale=small --only=feetech,feetech_faults
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median, quantiles
from typing import Any

from campaign import Measurements, run_campaign
from report import Figure, Section
from servos import BYTE_S, GOALS, MOTORS, SERVO_S, Servos, busy, offset, servos
from vendor_bus import VendorBus

from yardarm.errors import BusFault
from yardarm.machine import usable_cores
from yardarm.robots.motors import DynamixelBus, FeetechBus

METHOD = """
Six emulated motors live in a process of their own behind a pseudo-terminal, once for each side. They answer a sync read
1 ms after the request, and after the time that request and answers take on a line of 1 Mbaud; all six answers arrive in
one piece. A cycle is a sync read of `Present_Position` and a sync write of `Goal_Position`. Both sides run in
one process, in turns of 250 cycles. CPU is the CPU time of that process.

The vendors' packages are driven as LeRobot drives them: groups set up for every call, two retries, the packet timeout
that LeRobot gives Feetech's.

Motors are at once where they are sent, so each value shows the goal that it belongs to: a value is wrong if it is not
the goal of the cycle before. One late answer makes all later values of the SDKs wrong, which LeRobot does not notice.
So that they can be timed at all, their input is emptied here after each wrong value. Times are those of right values.

Under load, as many processes as there are cores spin. With faults, 2% of the answers are lost, late by 60 to 200 ms,
corrupted in one byte, truncated, or preceded by noise, in equal parts.

Nobody can be faster than 1 ms and the line's time, which is what arithmetic allows. Both sides also wait until the
motors' process has woken up: writing the bytes of the sync read and reading those of its answers, no more, took
1.9 ms (Feetech) and 2.5 ms (Dynamixel) in the median, 3.4 and 6.5 ms at 99%, on the same machine.
"""
TURN = 250
FAULTS = "0.02,seed=1"
BUSES = {"feetech": FeetechBus, "dynamixel": DynamixelBus}
Cycle = Callable[[int], Mapping[Any, float]]
"""Reads the positions of all motors, then sends them to a goal."""


@dataclass
class Measured:
    """What one side did."""

    times_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    failed: int = 0
    wrong: int = 0

    @property
    def median_ms(self) -> float:
        return median(self.times_ms)

    @property
    def p99_ms(self) -> float:
        return quantiles(self.times_ms, n=100)[98]

    @property
    def cpu_ms(self) -> float:
        return 1e3 * self.cpu_s / (len(self.times_ms) + self.failed + self.wrong)

    def text(self) -> str:
        return (
            f"median {self.median_ms:.2f} ms, 99% {self.p99_ms:.2f} ms, longest {max(self.times_ms):.0f} ms, "
            f"CPU {self.cpu_ms:.3f} ms, {self.failed} failed, {self.wrong} wrong"
        )


class Driver:
    """Runs cycles on one side, and checks what comes back."""

    def __init__(self, kind: str, cycle: Cycle, forget: Callable[[], None]) -> None:
        self.measured = Measured()
        self._motors, self._cycle, self._forget = MOTORS[kind], cycle, forget
        self._count = 0
        cycle(0)  # from now on, the motors are where they were sent
        time.sleep(0.1)

    def run(self, cycles: int) -> None:
        measured = self.measured
        for _ in range(cycles):
            goal = (self._count + 1) % GOALS
            cpu, started = time.process_time(), time.perf_counter()
            try:
                values = self._cycle(goal)
            except ConnectionError:  # BusFault is one, too; the goal was not sent
                measured.failed += 1
                measured.cpu_s += time.process_time() - cpu
                continue
            took_ms = 1e3 * (time.perf_counter() - started)
            measured.cpu_s += time.process_time() - cpu
            expected = [self._count % GOALS + offset(number) for number in range(len(self._motors))]
            self._count += 1
            if list(values.values()) == expected:
                measured.times_ms.append(took_ms)
            else:
                measured.wrong += 1
                time.sleep(0.02)
                self._forget()


@contextlib.contextmanager
def ours(kind: str, port: str) -> Iterator[tuple[FeetechBus | DynamixelBus, Cycle]]:
    """A cycle of our bus."""
    motors = MOTORS[kind]
    bus = BUSES[kind](port, motors)
    bus.connect(handshake=False)

    def cycle(goal: int) -> Mapping[Any, float]:
        values = bus.sync_read("Present_Position", normalize=False)
        bus.sync_write("Goal_Position", dict.fromkeys(motors, goal), normalize=False)
        return values

    yield bus, cycle
    with contextlib.suppress(BusFault):
        bus.disconnect(disable_torque=False)


@contextlib.contextmanager
def theirs(kind: str, port: str) -> Iterator[tuple[VendorBus, Cycle]]:
    """A cycle of the vendor's SDK."""
    ids = [motor.id for motor in MOTORS[kind].values()]
    bus = VendorBus(kind, port)

    def cycle(goal: int) -> Mapping[Any, float]:
        values = bus.sync_read("Present_Position", ids)
        bus.sync_write("Goal_Position", dict.fromkeys(ids, goal))
        return values

    yield bus, cycle
    bus.close()


def in_turns(kind: str, cycles: int, spinning: int) -> Section:
    """Measure both sides."""
    with contextlib.ExitStack() as stack:
        sdk, cycle_theirs = stack.enter_context(theirs(kind, stack.enter_context(servos(kind)).path))
        bus, cycle_ours = stack.enter_context(ours(kind, stack.enter_context(servos(kind)).path))
        drivers = [Driver(kind, cycle_theirs, sdk.forget), Driver(kind, cycle_ours, lambda: None)]
        with busy(spinning):
            for _ in range(cycles // TURN):
                for driver in drivers:
                    driver.run(TURN)
    vendor, own = (driver.measured for driver in drivers)
    return Section(
        f"{kind}, {f'{spinning} cores busy' if spinning else 'no load of our own'}",
        _figures(kind, cycles, spinning, vendor, own),
        [f"The vendor's SDK: {vendor.text()}.", f"Ours: {own.text()}.", f"Our line counted {_counts(bus)}."],
    )


def _figures(kind: str, cycles: int, spinning: int, vendor: Measured, own: Measured) -> list[Figure]:
    when = f"{kind}, {spinning} cores busy" if spinning else kind
    least_ms = 1e3 * (SERVO_S + _bytes(kind) * BYTE_S)
    ratios = {
        "median": (own.median_ms, vendor.median_ms, 0.5, f"{least_ms / vendor.median_ms:.2f}×"),
        "99th percentile": (own.p99_ms, vendor.p99_ms, 0.5, f"{least_ms / vendor.p99_ms:.2f}×"),
        "CPU time": (own.cpu_ms, vendor.cpu_ms, 0.1, ""),
    }
    figures = [
        Figure(
            f"{when}: {name} of a cycle",
            f"{mine / its:.3f}× ({mine:.3f} ms)",
            f"the SDK: {its:.3f} ms",
            f"at most {target:g}×",
            mine <= target * its,
            allowed,
        )
        for name, (mine, its, target, allowed) in ratios.items()
    ]
    failures = Figure(
        f"{when}: cycles that failed, or gave a wrong value",
        f"{own.failed + own.wrong} of {cycles}",
        f"the SDK: {vendor.failed + vendor.wrong}",
        "none",
        own.failed == own.wrong == 0,
    )
    return [*figures, failures]


def _bytes(kind: str) -> int:
    """The bytes of a sync read's request and answers."""
    protocol, ids = BUSES[kind].protocol, [motor.id for motor in MOTORS[kind].values()]
    size = 2 if kind == "feetech" else 4
    return len(protocol.sync_read(ids, 0, size)) + len(ids) * protocol.answer_size(size)


def with_faults(kind: str, cycles: int, vendor_cycles: int) -> Section:
    """Measure both sides while answers are disturbed."""
    with contextlib.ExitStack() as stack:
        motors: list[Servos] = [stack.enter_context(servos(kind, FAULTS)) for _ in range(2)]
        sdk, cycle_theirs = stack.enter_context(theirs(kind, motors[0].path))
        bus, cycle_ours = stack.enter_context(ours(kind, motors[1].path))
        drivers = [Driver(kind, cycle_theirs, sdk.forget), Driver(kind, cycle_ours, lambda: None)]
        drivers[0].run(vendor_cycles)
        drivers[1].run(cycles)
        injected = motors[1].injected()
    vendor, own = (driver.measured for driver in drivers)
    return Section(
        f"{kind}, 2% of the answers disturbed",
        [
            Figure(
                f"{kind}, 2% faults: wrong values",
                f"{own.wrong} of {cycles}",
                f"the SDK: {vendor.wrong} of {vendor_cycles}",
                "none",
                not own.wrong,
            ),
            Figure(
                f"{kind}, 2% faults: cycles that failed",
                f"{own.failed} of {cycles}",
                f"the SDK: {vendor.failed} of {vendor_cycles}",
                "none",
                not own.failed,
            ),
            _counted(kind, injected, bus),
        ],
        [
            f"The vendor's SDK: {vendor.text()}.",
            f"Ours: {own.text()}.",
            f"Injected: {', '.join(f'{name} {number}' for name, number in sorted(injected.items()))}.",
            f"Our line counted {_counts(bus)}; {bus.counts.retries} requests were repeated.",
            "A late answer makes the questions behind it wait, too: they count as missing, and their answers as late.",
        ],
    )


def _counted(kind: str, injected: Counter[str], bus: FeetechBus | DynamixelBus) -> Figure:
    """Whether what was injected was seen. Two disturbances side by side look like one."""
    damaged = injected["corrupted"] + injected["truncated"] + injected["noise"]
    missing = injected["lost"] + injected["late"] + injected["corrupted"] + injected["truncated"]
    counts = bus.line.counts
    return Figure(
        f"{kind}, 2% faults: faults counted",
        f"{counts.damaged} damaged, {counts.missing} missing, {counts.late} late",
        f"injected: {damaged}, {missing}, {injected['late']}",
        "95% (two side by side look like one)",
        counts.damaged >= 0.99 * damaged
        and counts.missing >= 0.99 * missing
        and counts.late >= 0.99 * injected["late"],
    )


def _counts(bus: FeetechBus | DynamixelBus) -> str:
    return ", ".join(f"{name} {number}" for name, number in asdict(bus.line.counts).items())


CORES = usable_cores()
FULL: Measurements = {
    "feetech": partial(in_turns, "feetech", 10_000, 0),
    "dynamixel": partial(in_turns, "dynamixel", 5_000, 0),
    "feetech_busy": partial(in_turns, "feetech", 10_000, CORES),
    "feetech_faults": partial(with_faults, "feetech", 10_000, 500),
    "dynamixel_faults": partial(with_faults, "dynamixel", 5_000, 500),
}
SMALL: Measurements = {
    "feetech": partial(in_turns, "feetech", 1_000, 0),
    "dynamixel": partial(in_turns, "dynamixel", 1_000, 0),
    "feetech_busy": partial(in_turns, "feetech", 500, CORES),
    "feetech_faults": partial(with_faults, "feetech", 1_000, 100),
    "dynamixel_faults": partial(with_faults, "dynamixel", 1_000, 100),
}


if __name__ == "__main__":
    run_campaign("Buses of motors, and the vendors' SDKs", __doc__ or "", METHOD, FULL, SMALL)
