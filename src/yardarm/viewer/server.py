"""Serves the viewer on a port of this machine."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from yardarm.errors import UsageError
from yardarm.viewer.app import ViewerApp

__all__ = ["FIRST_PORT", "ViewOptions", "serve_viewer"]

FIRST_PORT = 7780
TRIED_PORTS = 50


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Where the viewer listens, and what it may do."""

    folder: Path
    host: str = "127.0.0.1"
    port: int | None = None
    """None: the first free one."""
    trust_remote_code: bool = False

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can reach it."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host != "localhost"


def serve_viewer(options: ViewOptions, ready: Callable[[str], None], until: Callable[[], object] | None = None) -> None:
    """Serve until Ctrl-C, or until `until` returns; `ready` is told the address as soon as it answers."""
    hosts = {"localhost", options.host, *((socket.gethostname().lower(),) if options.is_open_to_others else ())}
    with _bound(options) as listening:
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"http://{host}:{listening.getsockname()[1]}"
        app = ViewerApp(
            options.folder,
            hosts=hosts,
            trust_remote_code=options.trust_remote_code,
            closing=lambda: server.should_exit,
        )
        config = uvicorn.Config(app.asgi, log_level="warning", timeout_graceful_shutdown=2, lifespan="on")
        server = _Server(config, lambda: ready(address))
        if until is not None:
            threading.Thread(target=_stop_after, args=(until, server), daemon=True).start()
        server.run(sockets=[listening])


def _stop_after(until: Callable[[], object], server: uvicorn.Server) -> None:
    until()
    server.should_exit = True


class _Server(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _bound(options: ViewOptions) -> socket.socket:
    """Listen on the wanted port, or on the first that is free."""
    ports = [options.port] if options.port is not None else range(FIRST_PORT, FIRST_PORT + TRIED_PORTS)
    problem: OSError | None = None
    for port in ports:
        try:
            family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
            return socket.create_server((options.host, port), family=family, backlog=128)
        except OSError as error:
            problem = error
    wanted = f"port {options.port}" if options.port is not None else f"any port from {FIRST_PORT} on"
    raise UsageError(f"cannot listen on {wanted} of {options.host}: {problem}; choose another with --port or --host")
