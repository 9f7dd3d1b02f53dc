"""A door beside a twin's port: programs of the same user see the twin as no serial port could show it, and step it.

a program ──▶ a Unix socket ──▶ one line of JSON each way: {"ask": "state"} ──▶ {"seconds": 1.5, "qpos": […], …}
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from yardarm.contents import count, flag, list_of, map_of, number, optional, parse_json, record, text
from yardarm.errors import RobotFault, UsageError, YardarmError

__all__ = ["RemoteTwin", "TwinDoor", "TwinSpec", "TwinState", "open_door"]

log = logging.getLogger(__name__)

LONGEST_REQUEST, LONGEST_ANSWER = 1024, 1 << 20
# No one may stop a twin for longer by one line.
LONGEST_ADVANCE_S = 3600.0
# How long a twin may take to say what it is, and to do what it was asked for.
GREETING_S, PATIENCE_S = 5.0, 120.0


@dataclass(frozen=True, slots=True)
class TwinSpec:
    """What a twin is."""

    type: str
    """The robot's or the teleoperator's."""
    kind: str
    """Its body: "published", or the name of simple shapes."""
    scene: str
    """What is on its table; empty: nothing."""
    is_real_time: bool
    """Whether time passes by itself."""
    ranges: Mapping[str, tuple[float, float]]
    """The angles of each joint, in radians, between which its percentages lie."""


@dataclass(frozen=True, slots=True)
class TwinState:
    """Where everything is."""

    seconds: float
    """The twin's own time."""
    host_s: float
    """The same moment by the host's monotonic clock, if the twin lives in real time."""
    qpos: tuple[float, ...]
    """All of MuJoCo's positions: the arm's joints, then what else can move."""
    episode: int
    """How often its scene was set up before."""
    success: bool
    """Whether the scene is as it should be in the end."""


class Housed(Protocol):
    """What lives behind a door."""

    port: str

    @property
    def about(self) -> TwinSpec:
        """What it is."""

    def look(self) -> TwinState:
        """Where everything is."""

    def advance(self, seconds: float) -> None:
        """Let time pass."""

    def reset_scene(self, seed: int | None) -> None:
        """Set up its scene anew."""


REQUEST = record({"ask": text}, optional={"seconds": number, "seed": optional(count)})
SPEC = record(
    {"type": text, "kind": text, "scene": text, "is_real_time": flag, "ranges": map_of(list_of(number))},
)
STATE = record({"seconds": number, "host_s": number, "qpos": list_of(number), "episode": count, "success": flag})
REFUSAL = record({"error": text})


class TwinDoor:
    """The twin's side: answers whoever knocks, each in a thread of their own."""

    def __init__(self, twin: Housed) -> None:
        self._twin = twin
        self._visitors: set[socket.socket] = set()
        self._stepping = threading.Lock()
        self.path = _made_folder() / _name(twin.port)
        self.path.unlink(missing_ok=True)  # of a twin that was killed: its port has a new owner, which is us
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self.path))
            self.path.chmod(0o600)
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self._thread = threading.Thread(target=self._welcome, name="twin's door", daemon=True)
        self._thread.start()

    @classmethod
    def opened(cls, twin: Housed) -> Self | None:
        """A door; None if this machine has no place for one: a twin can live without."""
        try:
            return cls(twin)
        except OSError as error:
            log.warning("the twin on %s can be used as a port only: its socket cannot be made (%s)", twin.port, error)
            return None

    def close(self) -> None:
        """Send everybody away, and leave nothing behind."""
        self.path.unlink(missing_ok=True)
        for own in (self._socket, *self._visitors):
            with contextlib.suppress(OSError):  # it has just left
                own.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _welcome(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:  # closed
                return
            self._visitors.add(visitor)
            threading.Thread(target=self._serve, args=(visitor,), name="twin's visitor", daemon=True).start()

    def _serve(self, visitor: socket.socket) -> None:
        with visitor, visitor.makefile("rb") as lines, contextlib.suppress(OSError):
            while line := lines.readline(LONGEST_REQUEST):
                visitor.sendall(json.dumps(self._answer(line)).encode() + b"\n")
        self._visitors.discard(visitor)

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = parse_json(line)
            REQUEST(request, "")
            return self._done(request)
        except (ValueError, YardarmError) as error:
            return {"error": str(error)}

    def _done(self, request: Mapping[str, Any]) -> dict[str, Any]:
        match request["ask"]:
            case "about":
                return asdict(self._twin.about)
            case "state":
                return asdict(self._twin.look())
            case "advance":
                seconds = request.get("seconds", -1)
                if not 0 <= seconds <= LONGEST_ADVANCE_S:
                    raise UsageError(f"seconds must lie between 0 and {LONGEST_ADVANCE_S:g}, got {seconds}")
                with self._stepping:
                    self._twin.advance(seconds)
                    return asdict(self._twin.look())
            case "reset":
                self._twin.reset_scene(request.get("seed"))
                return asdict(self._twin.look())
            case other:
                raise UsageError(f"a twin can be asked about, state, advance and reset, not '{other}'")


class RemoteTwin:
    """A twin behind its door, in this process or another."""

    def __init__(self, port: str, connection: socket.socket) -> None:
        self.port, self._connection = port, connection
        self._lines = connection.makefile("rb")
        self._lock = threading.Lock()
        self._unread = 0
        connection.settimeout(GREETING_S)
        about = self._ask(SPEC, ask="about")
        ranges = {name: (ends[0], ends[-1]) for name, ends in about["ranges"].items() if ends}
        self.spec = TwinSpec(about["type"], about["kind"], about["scene"], about["is_real_time"], ranges)
        connection.settimeout(PATIENCE_S)
        self.seconds = self.state().seconds
        """The twin's time when it was last asked."""

    @property
    def is_real_time(self) -> bool:
        """Whether time passes by itself."""
        return self.spec.is_real_time

    def state(self) -> TwinState:
        """Where everything is."""
        return self._state(ask="state")

    def advance(self, seconds: float) -> TwinState:
        """Let time pass, after everything that was sent until now has been heard; for a twin without a clock."""
        return self._state(ask="advance", seconds=seconds)

    def reset_scene(self, seed: int | None = None) -> TwinState:
        """Set up its scene anew, from a seed, or from the next one."""
        return self._state(ask="reset", seed=seed)

    def close(self) -> None:
        """Leave; the twin lives on."""
        self._lines.close()
        self._connection.close()

    def _state(self, **request: Any) -> TwinState:
        answer = self._ask(STATE, **request)
        self.seconds = float(answer["seconds"])
        known = {name: answer[name] for name in ("seconds", "host_s", "episode", "success")}
        return TwinState(qpos=tuple(answer["qpos"]), **known)

    def _ask(self, check: Callable[[Any, str], None], **request: Any) -> dict[str, Any]:
        with self._lock:
            try:
                self._connection.sendall(json.dumps(request).encode() + b"\n")
                self._unread += 1
                while self._unread:  # Ctrl-C may have come before an earlier answer
                    line = self._lines.readline(LONGEST_ANSWER)
                    self._unread -= 1
            except (OSError, ValueError) as error:  # ValueError: it is closed
                raise RobotFault(f"the twin on {self.port} does not answer: {error}; start it again") from None
        if not line.endswith(b"\n"):
            raise RobotFault(f"the twin on {self.port} has ended; start it again")
        try:
            answer = parse_json(line)
            if isinstance(answer, dict) and "error" in answer:
                REFUSAL(answer, "")
                raise UsageError(f"the twin on {self.port}: {answer['error']}")
            check(answer, "")
        except ValueError as error:
            raise RobotFault(f"what answers for the twin on {self.port} is none: {error}") from None
        return dict(answer)


def open_door(port: str) -> RemoteTwin | None:
    """The twin behind a port; None if there is none: the port is a real one, or its twin is gone."""
    for folder in _folders():
        place = folder / _name(port)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if place.stat().st_uid != os.geteuid():
                raise FileNotFoundError
            connection.connect(str(place))
            return RemoteTwin(port, connection)
        except (OSError, RobotFault):  # nobody has made it, or nobody is behind it any more
            connection.close()
    return None


def _made_folder() -> Path:
    """Where this process makes doors: a folder that is nobody else's."""
    folder = _folders()[0]
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def _folders() -> list[Path]:
    """Where doors may be, this process's own first: not every shell of a user knows the same place."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    bases = [*([own] if own else []), tempfile.gettempdir(), f"/run/user/{os.geteuid()}"]
    return [Path(base) / f"yardarm-{os.geteuid()}" for base in dict.fromkeys(bases)]


def _name(port: str) -> str:
    """The name of the port behind its links."""
    return os.path.realpath(port).strip("/").replace("/", "-") + ".sock"
