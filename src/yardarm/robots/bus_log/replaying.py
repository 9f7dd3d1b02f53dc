"""Plays a log again: the same calls, through the driver of today, to a port that answers as recorded.

calls of the log ──▶ bus ──▶ pseudo-terminal ──▶ is it what was sent then? ──▶ what came then, in time or too late
      what came of them, then and now ──▶ the report
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from yardarm.errors import YardarmError
from yardarm.robots.bus_log.reading import Bytes, Call, LogSession
from yardarm.robots.bus_log.writing import plain, rounded
from yardarm.robots.motors import MotorBus
from yardarm.robots.twins.port import Outgoing, PortServer

__all__ = ["Difference", "ReplayReport", "replay"]

CALLS = ("open", "close", "read", "write", "sync_read", "sync_write", "ping", "broadcast_ping", "health")
# Positions were rounded when they were written.
CLOSE = 1e-5
# How often a request was tried depends on the machine.
TRIES = re.compile(r" after \d+ tries")
LOST = "is gone ("
# The driver is so much more patient than then, and what came too late comes so much later: what was in time must be in
# time on a busy machine, too.
SLOWER = 10
# What was sent without waiting for an answer is on its way for a moment; a machine may be slow.
LONGEST_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that gave another result than the recorded one."""

    call: Call
    then: str
    now: str

    def __str__(self) -> str:
        return f"at {self.call.t:.3f} s {self.call}\n  then: {self.then}\n  now:  {self.now}"


@dataclass(slots=True)
class ReplayReport:
    """What came of a replay."""

    replayed: int = 0
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be played, and why."""


def replay(session: LogSession) -> ReplayReport:
    """Play a session's calls again, in their order, without the pauses between them."""
    report = ReplayReport()
    script = _Script(float(session.header["patience_s"]))
    with PortServer(script.answer) as port:
        bus = session.bus(port.path)
        bus.line.patience_s *= SLOWER
        bus.line.lateness_s *= SLOWER
        bus.retry_budget_s *= SLOWER
        try:
            _replay_all(session, bus, script, report)
        finally:
            bus.line.close()
    return report


def _replay_all(session: LogSession, bus: MotorBus, script: _Script, report: ReplayReport) -> None:
    for call in session.calls:
        if call.calibration is not None:
            bus.calibration = call.calibration
        if reason := _unplayable(call):
            report.notes.append(f"at {call.t:.3f} s: {reason}")
            if call.ended is None or LOST in call.text:
                return
            continue
        script.load(call.bytes)
        now = _outcome_of(bus, call)
        then = _then(call, str(session.header["port"]), bus.line.port)
        script.wait()
        report.replayed += 1
        if script.other:
            report.differences.append(Difference(call, f"sent {script.wanted}", f"sent {script.other}"))
            report.notes.append("the driver sends other bytes than then: what follows cannot be played")
            return
        if not _same(then, now):
            report.differences.append(Difference(call, _text(then), _text(now)))


def _unplayable(call: Call) -> str:
    if call.name not in CALLS:
        return "what was sent outside of the calls of the bus is not played"
    if call.ended is None:
        return f"{call} was cut off; nothing after it is played"
    if LOST in call.text:
        return f"here the port was lost ({call.text}); nothing after it is played"
    if call.fault in ("KeyboardInterrupt", "Terminated"):
        return f"{call} was interrupted, and is not played"
    return ""


def _outcome_of(bus: MotorBus, call: Call) -> tuple[str, Any]:
    """What comes of a call now."""
    made = {"open": bus.connect, "close": bus.disconnect}.get(call.name) or getattr(bus, call.name)
    try:
        return "", rounded(plain(made(*call.args, **call.options)))
    except YardarmError as error:
        return type(error).__name__, TRIES.sub("", str(error))


def _then(call: Call, port_then: str, port_now: str) -> tuple[str, Any]:
    if call.fault:
        return call.fault, TRIES.sub("", call.text.replace(port_then, port_now))
    return "", call.gave


def _same(then: Any, now: Any) -> bool:
    if isinstance(then, dict) and isinstance(now, dict):
        return then.keys() == now.keys() and all(_same(then[name], now[name]) for name in then)
    if isinstance(then, list | tuple) and isinstance(now, list | tuple):
        return len(then) == len(now) and all(map(_same, then, now))
    if isinstance(then, int | float) and isinstance(now, int | float):
        return abs(then - now) <= CLOSE
    return bool(then == now)


def _text(outcome: tuple[str, Any]) -> str:
    fault, value = outcome
    return f"{fault}: {value}" if fault else str(value)


class _Script:
    """What must be sent, and what is answered to it, for one call at a time."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self.wanted = self.other = ""
        """The first request that was not the recorded one, in hex: then, and now."""
        self._steps: list[tuple[bytes, list[Outgoing]]] = []
        self._last = self._received = b""
        self._quiet_at = 0.0

    def load(self, pieces: list[Bytes]) -> None:
        """Take the packets of the next call. What came before its first request belongs to the call before."""
        steps: list[tuple[Bytes, list[Outgoing]]] = []
        for piece in pieces:
            if piece.sent:
                steps.append((piece, []))
            elif steps:
                request, answers = steps[-1]
                after_s = piece.t - request.t
                is_late = after_s > self._patience_s
                answers.append(Outgoing(piece.content, SLOWER * after_s if is_late else after_s))
        self._last = b""
        self._steps = [(request.content, answers) for request, answers in steps]

    def answer(self, content: bytes) -> Iterator[Outgoing]:
        """What follows from what was sent."""
        self._received += content
        while self._steps and self._received.startswith(self._steps[0][0]):
            self._last, answers = self._steps[0]
            self._received = self._received[len(self._last) :]
            for own in answers:
                self._quiet_at = max(self._quiet_at, time.monotonic() + own.after_s)
                yield own
            del self._steps[0]
        wanted = self._steps[0][0] if self._steps else self._last
        if not self._steps and self._received == self._last:
            self._received = b""  # it was tried once more than then, by a machine that is a bit faster
        if not wanted.startswith(self._received):
            self.wanted, self.other = self.wanted or wanted.hex() or "nothing", self.other or self._received.hex()

    def wait(self) -> None:
        """Until all was sent that was sent then, or is not going to be, and all has come that came late."""
        ends = time.monotonic() + LONGEST_WAIT_S
        while self._steps and not self.other and time.monotonic() < ends:
            time.sleep(0.001)
        time.sleep(max(0.0, self._quiet_at - time.monotonic()))
