"""Serves the viewer over HTTP."""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import uvicorn
from starlette.applications import Starlette

from yardarm.control import LiveState
from yardarm.errors import UsageError
from yardarm.robots.twins import Twin
from yardarm.viewer.app import ViewerApp
from yardarm.viewer.connections import RequestTimeoutProtocol, close_dead_connections
from yardarm.viewer.control_app import ControlApp
from yardarm.viewer.dataset_catalogue import DatasetCatalogue
from yardarm.viewer.dataset_routes import DatasetApp
from yardarm.viewer.twin_app import TwinApp

__all__ = ["FIRST_PORT", "Listening", "ViewOptions", "serve_datasets", "serve_twin", "serve_viewer", "served_control"]

FIRST_PORT = 7780
TRIED_PORTS = 50


class App(Protocol):
    """An application that can be served."""

    asgi: Starlette


@dataclass(frozen=True, slots=True)
class Listening:
    """The address and port that the viewer listens on, and whether its pages may change anything."""

    host: str = "127.0.0.1"
    port: int | None = None
    """None: the first free one."""
    edit: bool | None = None
    """None: only if no other machine can reach it."""
    flags: str = "--port or --host"
    """What to change if it cannot be listened on."""

    @property
    def editable(self) -> bool:
        """Whether its pages may change anything."""
        return not self.is_open_to_others if self.edit is None else self.edit

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can reach it."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """A folder of runs, and where to serve it."""

    folder: Path
    listening: Listening = Listening()
    render_ahead: bool = True
    """Whether to draw and render what a reader will want next."""


def serve_viewer(options: ViewOptions, ready: Callable[[str], None], until: Callable[[], object] | None = None) -> None:
    """Serve runs until Ctrl-C, or until `until` returns; `ready` gets the address once it answers."""

    def make(hosts: Collection[str], closing: Callable[[], bool]) -> App:
        return ViewerApp(
            options.folder,
            hosts=hosts,
            closing=closing,
            editable=options.listening.editable,
            render_ahead=options.render_ahead,
        )

    _serve(make, options.listening, ready, until)


def serve_datasets(catalogue: DatasetCatalogue, listening: Listening, ready: Callable[[str], None]) -> None:
    """Serve datasets until Ctrl-C; `ready` gets the address once it answers."""
    _serve(lambda hosts, closing: DatasetApp(catalogue, hosts=hosts, editable=listening.editable), listening, ready)


def serve_twin(
    twin: Twin,
    flags: str,
    listening: Listening,
    ready: Callable[[str], None],
    until: Callable[[], object] | None = None,
) -> None:
    """Serve a twin's page until Ctrl-C, or until `until` returns; `flags` reach the twin from other commands."""
    apps: list[TwinApp] = []

    def make(hosts: Collection[str], closing: Callable[[], bool]) -> App:
        apps.append(TwinApp(twin, flags, hosts=hosts, editable=listening.editable))
        return apps[0]

    try:
        _serve(make, listening, ready, until)
    finally:
        for app in apps:
            app.painter.close()


@contextmanager
def served_control(state: LiveState, listening: Listening) -> Iterator[str]:
    """Serve the page of a loop beside the block, in a thread; gives its address once it answers."""
    apps: list[ControlApp] = []
    answers, over = queue.Queue[str | Exception](), threading.Event()

    def make(hosts: Collection[str], closing: Callable[[], bool]) -> App:
        apps.append(ControlApp(state, hosts=hosts, editable=listening.editable))
        return apps[0]

    def serve() -> None:
        try:
            _serve(make, listening, answers.put, over.wait)
        except Exception as error:  # whoever waits for the address gets it
            answers.put(error)

    thread = threading.Thread(target=serve, name="page", daemon=True)
    thread.start()
    try:
        answer = answers.get()
        if isinstance(answer, Exception):
            raise answer
        yield answer
    finally:
        over.set()
        thread.join(timeout=5)
        for app in apps:
            app.close()


def _serve(
    make: Callable[[Collection[str], Callable[[], bool]], App],
    listening: Listening,
    ready: Callable[[str], None],
    until: Callable[[], object] | None = None,
) -> None:
    hosts = {"localhost", listening.host, *((socket.gethostname().lower(),) if listening.is_open_to_others else ())}
    with _bound(listening) as bound:
        host = f"[{listening.host}]" if ":" in listening.host else listening.host
        address = f"http://{host}:{bound.getsockname()[1]}"
        app = make(hosts, lambda: server.should_exit)
        close_dead_connections(bound)
        config = uvicorn.Config(
            app.asgi,
            loop="asyncio",
            http=RequestTimeoutProtocol,
            ws="none",
            lifespan="on",
            log_level="warning",
            timeout_graceful_shutdown=2,
        )
        server = _Server(config, lambda: ready(address))
        if until is not None:
            threading.Thread(target=_stop_after, args=(until, server), daemon=True).start()
        server.run(sockets=[bound])


def _stop_after(until: Callable[[], object], server: uvicorn.Server) -> None:
    until()
    server.should_exit = True


class _Server(uvicorn.Server):
    """A server that calls `ready` once it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `ready`."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _bound(listening: Listening) -> socket.socket:
    """Listen on the given port, or on the first free one."""
    ports = [listening.port] if listening.port is not None else range(FIRST_PORT, FIRST_PORT + TRIED_PORTS)
    problem: OSError | None = None
    for port in ports:
        try:
            family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
            return socket.create_server((listening.host, port), family=family, backlog=128)
        except OSError as error:
            problem = error
    wanted = (
        f"port {listening.port}"
        if listening.port is not None
        else f"any port from {FIRST_PORT} to {FIRST_PORT + TRIED_PORTS - 1}"
    )
    raise UsageError(f"cannot listen on {wanted} of {listening.host}: {problem}; choose another with {listening.flags}")
