"""Reads logs of buses: sessions, the calls in them, and the packets of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.bus_log.writing import FORMAT
from yardarm.robots.motors import DynamixelBus, FeetechBus, Motor, MotorBus, MotorCalibration

__all__ = ["Bytes", "Call", "LogSession", "calibration_of", "read_bus_log"]

BUSES: dict[str, type[MotorBus]] = {own.__name__: own for own in (FeetechBus, DynamixelBus)}


@dataclass(frozen=True, slots=True)
class Bytes:
    """What went over the cable at a time, in one piece."""

    t: float
    sent: bool
    content: bytes


@dataclass(slots=True)
class Call:
    """What the driver was asked, what went over the cable, and what came of it."""

    t: float
    name: str
    """Empty for what was sent outside of all noted calls."""
    args: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    calibration: dict[str, MotorCalibration] | None = None
    """The calibration from now on, if it has changed."""
    bytes: list[Bytes] = field(default_factory=list)
    gave: Any = None
    fault: str | None = None
    text: str = ""
    ended: float | None = None
    """When it was over; None if the log ends before."""

    def __str__(self) -> str:
        words = [*map(_short, self.args), *(f"{name}={_short(value)}" for name, value in self.options.items())]
        return f"{self.name}({', '.join(words)})"


@dataclass(frozen=True, slots=True)
class LogSession:
    """What happened from the opening of a port to its closing."""

    header: Mapping[str, Any]
    calls: list[Call]
    was_closed: bool

    @property
    def device(self) -> str:
        """Whose bus it was."""
        name, id = self.header.get("device", "a bus"), self.header.get("id")
        return f"{name} '{id}'" if id else str(name)

    def bus(self, port: str) -> MotorBus:
        """A bus with the same motors and the same patience, on a port."""
        kind = str(self.header["bus"])
        if kind not in BUSES:
            raise UsageError(f"the log is of a {kind}, which is unknown here; use one of {', '.join(BUSES)}")
        motors = {name: Motor(**own) for name, own in self.header["motors"].items()}
        bus = BUSES[kind](port, motors, calibration_of(self.header["calibration"]))
        bus.line.patience_s, bus.retry_budget_s = self.header["patience_s"], self.header["retry_budget_s"]
        return bus


def calibration_of(data: Mapping[str, Any]) -> dict[str, MotorCalibration]:
    """A calibration from its JSON."""
    return {name: MotorCalibration(**own) for name, own in data.items()}


def read_bus_log(path: Path) -> list[LogSession]:
    """The sessions of a log. A last line that was cut off is ignored."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the log {path}: {error}") from None
    sessions: list[list[dict[str, Any]]] = []
    for number, line in enumerate(lines, start=1):
        if not line.endswith("\n"):
            break
        entry = _entry(path, number, line)
        if "format" in entry:
            sessions.append([])
        elif not sessions:
            raise UsageError(f"{path} is no log of a bus: it does not begin with a header; --robot.log=FILE writes one")
        sessions[-1].append(entry)
    if not sessions:
        raise UsageError(f"{path} is empty; --robot.log=FILE writes a log of the bus")
    try:
        return [_session(own) for own in sessions]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{path} is damaged: {type(error).__name__} {error}") from None


def _entry(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        entry = None
    if not isinstance(entry, dict):
        raise UsageError(f"{path}, line {number} is no line of a bus log: {line.strip()[:60]!r}")
    if entry.get("format", FORMAT) != FORMAT:
        raise UsageError(f"{path} has format {entry['format']}, and this version reads {FORMAT}; update yardarm")
    return entry


def _session(entries: list[dict[str, Any]]) -> LogSession:
    header, *rest = entries
    for name in ("bus", "port", "patience_s", "retry_budget_s", "motors", "calibration"):
        header[name]
    return LogSession(header, list(_calls(rest)), any("ended" in entry for entry in rest))


def _calls(entries: list[dict[str, Any]]) -> Iterator[Call]:
    call: Call | None = None
    calibration = None
    for entry in entries:
        t = float(entry["t"])
        if "calibration" in entry:
            calibration = calibration_of(entry["calibration"])
        elif "call" in entry:
            if call is not None:
                yield call
            call = Call(t, entry["call"], entry["args"], entry.get("options", {}), calibration)
            calibration = None
        elif "gave" in entry or "fault" in entry:
            if call is None:
                raise ValueError("an outcome without a call")
            call.gave, call.fault, call.text = entry.get("gave"), entry.get("fault"), entry.get("text", "")
            call.ended = t
            yield call
            call = None
        elif "sent" in entry or "got" in entry:
            call = call or Call(t, "")
            sent = "sent" in entry
            call.bytes.append(Bytes(t, sent, bytes.fromhex(entry["sent" if sent else "got"])))
    if call is not None:
        yield call


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
