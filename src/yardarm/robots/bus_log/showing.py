"""A log of a bus as text: when, what was asked of whom, what they answered, and what went wrong."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from yardarm.errors import RobotFault, UsageError
from yardarm.robots.bus_log.exchanges import Answer, Exchange, Packet, exchanges, no_answer
from yardarm.robots.bus_log.reading import Call, LogSession
from yardarm.robots.motors import DynamixelBus, MotorBus
from yardarm.robots.motors.registers import MODELS
from yardarm.robots.motors.wire import BROADCAST, Instruction

__all__ = ["shown"]

# A silence that is worth a line of its own.
GAP_S = 1.0
REQUEST_WIDTH = 44
WORDS = {
    Instruction.PING: "ping",
    Instruction.READ: "read",
    Instruction.WRITE: "write",
    Instruction.SYNC_READ: "sync read",
    Instruction.SYNC_WRITE: "sync write",
}


def shown(session: LogSession, only_faults: bool = False) -> Iterator[str]:
    """The lines of a session; or only those of what went wrong, and of the first time that a motor complains."""
    yield _title(session)
    texts, last = _Texts(session.bus(str(session.header["port"]))), 0.0
    complaints: set[Answer] = set()
    for call in session.calls:
        if call.calibration is not None:
            texts.bus.calibration = call.calibration
        is_good = call.fault is None and call.ended is not None
        for exchange in exchanges(call.bytes, texts.bus):
            if exchange.t - last > GAP_S and not only_faults:
                yield f"{'':12}… {exchange.t - last:.1f} s"
            last = exchange.t + exchange.took_s
            new = {Answer(own.id, own.error, b"") for own in exchange.answers if own.error} - complaints
            complaints |= new
            if not only_faults or not exchange.is_whole or new:
                yield texts.exchange(exchange)
        if not is_good and call.name:
            yield f"{'':12}{_outcome(call)}"
    if not session.was_closed:
        yield f"{'':12}here the log ends: the port was not closed"


def _title(session: LogSession) -> str:
    header = session.header
    try:
        started = f"{dt.datetime.fromisoformat(str(header.get('started'))):%Y-%m-%d %H:%M:%S %Z}"
    except ValueError:
        started = "at an unknown time"
    versions = header.get("versions") or {}
    return f"{session.device} on {header['port']}, {started}, yardarm {versions.get('yardarm', 'unknown')}"


def _outcome(call: Call) -> str:
    if call.ended is None:
        return f"{call} was not finished"
    return f"{call} ended with {call.fault}: {call.text}"


class _Texts:
    """Knows what the motors of a bus are called, and what their registers mean."""

    def __init__(self, bus: MotorBus) -> None:
        self.bus = bus
        self._names = {motor.id: name for name, motor in bus.motors.items()}
        self._address_size = 2 if isinstance(bus, DynamixelBus) else 1

    def exchange(self, exchange: Exchange) -> str:
        """One line."""
        problems = []
        if exchange.missing:
            problems.append(f"NO ANSWER from {', '.join(map(self.called, exchange.missing))}")
        if exchange.late:
            problems.append(f"late: {', '.join(f'{self.called(own.id)} {own.params.hex()}' for own in exchange.late)}")
        if exchange.dropped:
            problems.append(f"{no_answer(len(exchange.dropped))}: {exchange.dropped.hex(' ')}")
        took = f"{1000 * exchange.took_s:8.1f} ms" if exchange.answers else f"{'':11}"
        request = self.request(exchange.request) if exchange.request else "(nothing was asked)"
        said = [self.answer(exchange.request, own) for own in exchange.answers]
        return f"{exchange.t:12.6f}  {request:<{REQUEST_WIDTH}} {took}  {' · '.join([*said, *problems])}".rstrip()

    def called(self, id: int) -> str:
        """A motor's name, with its id."""
        return f"{self._names[id]} ({id})" if id in self._names else f"id {id}"

    def request(self, request: Packet) -> str:
        """What was asked, of whom."""
        word = WORDS.get(request.code, f"instruction {request.code:02x}")  # type: ignore[call-overload]
        match request.code:
            case Instruction.READ:
                address, size = self._numbers(request.params)
                return f"{word} {self._place(request.id, address, size)} {self._to(request.id)}"
            case Instruction.WRITE:
                address, data = self._number(request.params), request.params[self._address_size :]
                value = self._value(request.id, address, data)
                return f"{word} {self._place(request.id, address, len(data))} = {value} {self._to(request.id)}"
            case Instruction.SYNC_READ:
                address, size = self._numbers(request.params)
                ids = request.params[2 * self._address_size :]
                return f"{word} {self._place(ids[0] if ids else 0, address, size)} {_ranges(ids)}"
            case Instruction.SYNC_WRITE:
                return f"{word} {self._sync_write(request.params)}"
        return f"{word} {self._to(request.id)}"

    def answer(self, request: Packet | None, answer: Answer) -> str:
        """What a motor said."""
        complaints = self.bus.protocol.alerts(answer.error)
        refusal = self.bus.protocol.refusal(answer.error)
        marks = [f"REPORTS {complaint}" for complaint in complaints] + ([f"REFUSED: {refusal}"] if refusal else [])
        name = self._names.get(answer.id, f"id {answer.id}")
        if answer.params and request is not None and request.code in (Instruction.READ, Instruction.SYNC_READ):
            marks.insert(0, self._value(answer.id, self._number(request.params), answer.params))
        return " ".join([name, *marks]) if marks else f"{name} ok"

    def _sync_write(self, params: bytes) -> str:
        address, size = self._numbers(params)
        rest = params[2 * self._address_size :]
        each = [rest[start : start + 1 + size] for start in range(0, len(rest), 1 + size)]
        goals = [f"{self._names.get(own[0], own[0])} {self._value(own[0], address, own[1:])}" for own in each]
        return f"{self._place(each[0][0] if each else 0, address, size)}: {' · '.join(goals)}"

    def _to(self, id: int) -> str:
        return "to all" if id == BROADCAST else f"of {self.called(id)}"

    def _place(self, id: int, address: int, size: int) -> str:
        return self._register(id, address, size) or f"{address}–{address + size - 1}"

    def _register(self, id: int, address: int, size: int) -> str | None:
        if id not in self._names:
            return None
        known = MODELS[self.bus.motors[self._names[id]].model].registers
        return next((name for name, own in known.items() if (own.address, own.size) == (address, size)), None)

    def _value(self, id: int, address: int, data: bytes) -> str:
        """A register's value in the user's unit, with its steps; bytes, if it is none."""
        register = self._register(id, address, len(data))
        if register is None:
            return data.hex()
        raw = self.bus.decoded(register, self._names[id], data, normalize=False)
        try:
            value = self.bus.decoded(register, self._names[id], data, normalize=True)
        except (RobotFault, UsageError):
            value = raw  # it is not calibrated
        return f"{raw:g}" if value == raw else f"{round(value, 1) + 0.0:.1f} ({raw:g})"  # + 0.0: no -0.0

    def _number(self, params: bytes) -> int:
        return int.from_bytes(params[: self._address_size], "little")

    def _numbers(self, params: bytes) -> tuple[int, int]:
        size = self._address_size
        return self._number(params), int.from_bytes(params[size : 2 * size], "little")


def _ranges(ids: Sequence[int]) -> str:
    """1, 2, 3, 5 as “1–3, 5”."""
    groups: list[list[int]] = []
    for id in ids:
        if groups and id == groups[-1][-1] + 1:
            groups[-1].append(id)
        else:
            groups.append([id])
    return ", ".join(f"{own[0]}–{own[-1]}" if len(own) > 1 else str(own[0]) for own in groups)
