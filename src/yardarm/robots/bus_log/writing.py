"""Writes the log of a bus, as JSON lines. Each is in the hands of the system at once, and survives a crash.

{"format": 1, "started": …, "device": …, "motors": …, "calibration": …, …}   a session: from open to close
{"t": 0.01, "call": "sync_read", "args": ["Present_Position"]}               what the driver was asked
{"t": 0.01, "sent": "ff ff …"}, {"t": 0.012, "got": "…"}                     what went over the cable, in hex
{"t": 0.013, "gave": {…}}, or {"t": 0.1, "fault": "BusFault", "text": …}     what came of it
{"t": 9.5, "ended": true}                                                    it was closed, not cut off
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from yardarm.errors import UsageError
from yardarm.machine import versions
from yardarm.robots.motors.register_bus import RegisterBus
from yardarm.secrecy import without_secrets

__all__ = ["FORMAT", "BusLog", "plain", "rounded"]

log = logging.getLogger(__name__)

FORMAT = 1
BEGINNING = b'{"format": '
VERSIONS = ("yardarm", "python", "pyserial")
# Positions come from steps: more digits say nothing.
DIGITS = 6

R = TypeVar("R")


class BusLog:
    """A file that gets all that happens on a bus; `about` says whose it is. A new session is appended."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self._about = dict(about)
        self._file: int | None = None
        self._start = 0.0
        self._depth = 0
        self._calibration: object = None

    def begin(self, bus: RegisterBus) -> None:
        """Open the file, and write what the bus is."""
        self.end()
        self._file = _opened(self.path)
        self._start, self._depth, self._calibration = time.monotonic(), 0, bus.calibration
        self._write(
            {
                "format": FORMAT,
                "started": dt.datetime.now(dt.UTC).isoformat(timespec="microseconds"),
                **{name: plain(value) for name, value in without_secrets(self._about).items()},
                "bus": type(bus).__name__,
                "port": bus.line.port,
                "patience_s": bus.line.patience_s,
                "retry_budget_s": bus.retry_budget_s,
                "motors": plain(bus.motors),
                "calibration": plain(bus.calibration),
                "versions": {name: own for name, own in versions(["pyserial"]).items() if name in VERSIONS},
            }
        )

    def end(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._note(ended=True)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def on_bytes(self, sent: bool, content: bytes) -> None:
        """What the line sends and receives."""
        if self._file is not None:
            t = time.monotonic() - self._start
            self._put(f'{{"t": {t:.6f}, "{"sent" if sent else "got"}": "{content.hex()}"}}\n')

    def run(self, bus: RegisterBus, call: Callable[..., R], args: tuple[Any, ...], options: dict[str, Any]) -> R:
        """Make a call, and note it; what it calls in turn is not noted."""
        if self._depth or self._file is None:
            return call(bus, *args, **options)
        if bus.calibration is not self._calibration:
            self._calibration = bus.calibration
            self._note(calibration=plain(bus.calibration))
        args, options = tuple(map(_kept, args)), {name: _kept(value) for name, value in options.items()}
        noted = {"args": plain(args), **({"options": plain(options)} if options else {})}
        self._note(call=call.__name__.removeprefix("_"), **noted)
        self._depth += 1
        try:
            result = call(bus, *args, **options)
        except BaseException as error:
            self._note(fault=type(error).__name__, text=str(error))
            raise
        finally:
            self._depth -= 1
        self._note(gave=rounded(plain(result)))
        return result

    def _note(self, **content: Any) -> None:
        self._write({"t": round(time.monotonic() - self._start, 6), **content})

    def _write(self, content: Mapping[str, Any]) -> None:
        self._put(json.dumps(content, ensure_ascii=False) + "\n")

    def _put(self, line: str) -> None:
        try:
            if self._file is not None:
                os.write(self._file, line.encode())
        except OSError as error:  # a full disk must not stop an arm
            log.warning("the log %s ends here: %s", self.path, error)
            os.close(self._file)  # type: ignore[arg-type]
            self._file = None


def _opened(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise UsageError(f"cannot write the log {path}: {error.strerror}; give another path") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise UsageError(f"another device writes its log to {path}; give each a file of its own") from None
    if path.is_file() and os.pread(file, len(BEGINNING), 0) not in (b"", BEGINNING):
        os.close(file)
        raise UsageError(f"{path} is not a log of a bus, and would be spoiled; give another path")
    return file


def _kept(value: Any) -> Any:
    """An argument that can be looked at twice."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else value


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, str | int | float):
        return value
    return [plain(own) for own in value] if isinstance(value, Iterable) else str(value)


def rounded(value: Any) -> Any:
    """A result without digits that say nothing. Arguments keep them: a step more or less would be other bytes."""
    if isinstance(value, dict):
        return {name: rounded(own) for name, own in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value
