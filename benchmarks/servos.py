"""Six motors in a process of their own, behind a pseudo-terminal: they answer after 1 ms and the line's time.

A motor is at once where it is told to go, plus a number of its own: so every answer shows which goal it belongs to, and
which motor.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from processes import CONTEXT

from yardarm.robots.koch import KochFollower
from yardarm.robots.so_arm import SO_MOTORS
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.port import Outgoing, PortServer

MOTORS = {"feetech": SO_MOTORS, "dynamixel": KochFollower.motors}
SERVO_S = 0.001
BYTE_S = 10 / 1_000_000
GOALS = 4000
"""Goals count up to this, and begin again."""


def offset(number: int) -> int:
    """How far a motor is from its goal."""
    return 13 * number


@dataclass(frozen=True)
class Servos:
    """Their port, and what was done to their answers until now."""

    path: str
    pipe: Connection

    def injected(self) -> Counter[str]:
        self.pipe.send("injected")
        return self.pipe.recv()


@contextlib.contextmanager
def servos(kind: str, faults: str = "") -> Iterator[Servos]:
    """Start the process, and end it."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(kind, faults, theirs), daemon=True)
    process.start()
    try:
        yield Servos(ours.recv(), ours)
    finally:
        ours.close()  # it ends when nobody is there to ask
        process.join()


def _serve(kind: str, faults: str, pipe: Connection) -> None:
    motors = MOTORS[kind]
    chain = chain_of(motors)
    plan = parse_faults(faults, motors)

    def answer(content: bytes) -> Iterator[Outgoing]:
        packets = list(chain.take(content))
        after_s = SERVO_S + (len(content) + sum(map(len, packets))) * BYTE_S
        # An adapter hands over what it has collected in one piece; for faults, each answer is one.
        for packet in packets if faults else filter(None, [b"".join(packets)]):
            yield Outgoing(packet, after_s)

    injector = FaultInjector(plan, chain, answer)
    happen = chain.before_request

    def go_at_once() -> None:
        happen()
        for number, servo in enumerate(chain.servos):
            servo.shaft = servo.get("Goal_Position") + offset(number)

    chain.before_request = go_at_once
    with PortServer(injector.answer) as port, contextlib.suppress(EOFError):
        pipe.send(port.path)
        while True:
            pipe.recv()
            pipe.send(injector.injected)


def spin() -> None:
    """Keep a core busy, as long as somebody measures."""
    parent = os.getppid()
    while os.getppid() == parent:
        sum(range(100_000))


@contextlib.contextmanager
def busy(cores: int) -> Iterator[None]:
    """With this many cores busy."""
    spinners = [CONTEXT.Process(target=spin, daemon=True) for _ in range(cores)]
    for spinner in spinners:
        spinner.start()
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.join()
