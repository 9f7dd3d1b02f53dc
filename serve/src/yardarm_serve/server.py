"""The server: one port for the clients of openpi and vla-eval, with limits for each of them."""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
import os
import signal
import socket as sockets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from socket import SO_KEEPALIVE, SOL_SOCKET
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websockets
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as HttpRequest
from websockets.http11 import Response

from yardarm_serve.backend import Backend, BackendError
from yardarm_serve.batching import Batcher, Limits
from yardarm_serve.guard import Guard
from yardarm_serve.names import Reader
from yardarm_serve.openpi import YARDARM, serve_openpi
from yardarm_serve.session import Host, Session
from yardarm_serve.vla_eval import hello_of, serve_vla_eval

__all__ = ["CLIENT_HEADER", "KEY_VARIABLE", "LOOPBACK", "ServerConfig", "names_of", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Where both sides look for a key if no flag gives one.
KEY_VARIABLE = "YARDARM_API_KEY"
MOST = 1_000_000
# A client that sends this header uses openpi's protocol, so its first frame need not be awaited.
CLIENT_HEADER = "Yardarm-Client"
# A path in the address that says which protocol the client uses.
OPENPI_PATH, VLA_EVAL_PATH = "/openpi", "/vla-eval"
# Most clients answer pings in the background, even while they play a long chunk.
PING_EVERY_S = 60.0
# For clients whose machine has vanished without closing the connection: the kernel checks on them.
KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


@dataclass(frozen=True)
class ServerConfig:
    """Where to listen, and the limits for clients."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 means any free port."""
    api_key: str | None = None
    """The key that clients must send as ``Authorization: Api-Key …``."""
    allowed_hosts: Collection[str] = ()
    """More host names under which the settings are shown, such as a proxy's."""
    max_message_mb: float = 64.0
    max_connections: int = 256
    hello_wait_s: float = 0.5
    """How long to wait for vla-eval's hello; a client that stays silent is openpi's, and waits for metadata."""
    open_wait_s: float = 5.0
    """A connection whose opening request takes longer is closed."""
    pong_wait_s: float = 300.0
    """A client that takes longer to answer a ping is disconnected; a single-threaded one may be busy for a while."""
    rename_map: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name, value in (
            ("max_message_mb", self.max_message_mb),
            ("max_connections", self.max_connections),
            ("max_batch_size", self.limits.max_batch_size),
        ):
            if not value > 0:
                raise BackendError(f"--{name} must be positive, got {value}")
            if not value < MOST:
                raise BackendError(f"--{name} must be less than {MOST}, got {value}")
        if not 0 <= self.port < 65536:
            raise BackendError(f"--port must be between 0 and 65535, got {self.port}")
        wait = self.limits.max_wait_time
        if wait is not None and not 0 <= wait <= 10:
            raise BackendError(f"--max_wait_time must be between 0 and 10 seconds, got {wait}")

    @property
    def is_open_to_all(self) -> bool:
        """Whether anyone who reaches the port can use it."""
        return self.host not in LOOPBACK and self.api_key is None


class PolicyServer:
    """The server's state: its connections, and its batcher."""

    def __init__(self, backend: Backend, config: ServerConfig, version: str) -> None:
        self._config = config
        self._guard = Guard(config.api_key, (config.host, *config.allowed_hosts))
        self.batcher = Batcher(backend, config.limits)
        contract = backend.contract
        for theirs, ours in config.rename_map.items():
            if contract.inputs and ours not in contract.inputs:
                raise BackendError(
                    f"--rename_map renames '{theirs}' to '{ours}', which the policy does not read; "
                    f"it reads {', '.join(contract.inputs)}"
                )
        places = asyncio.Semaphore(contract.episodes) if contract.episodes else None
        self._host = Host(backend, self.batcher, Reader(contract, config.rename_map), places)
        self._metadata = {YARDARM: {"version": version, **contract.to_json()}}
        self._hello = hello_of(contract, version)
        self.conversations: set[asyncio.Task[Any]] = set()

    async def converse(self, socket: ServerConnection) -> None:
        """Serve one client until it disconnects."""
        conversation = asyncio.current_task()
        assert conversation is not None
        self.conversations.add(conversation)
        self.batcher.clients += 1
        _keep_alive(socket)
        session = Session(self._host)
        try:
            first = await self._first_frame(socket)
            if first is not None:
                await serve_vla_eval(socket, session, self._hello, first)
            else:
                await serve_openpi(socket, session, self._metadata)
        except ConnectionClosed:
            pass
        finally:
            session.end()
            self.batcher.clients -= 1
            self.conversations.discard(conversation)

    async def _first_frame(self, socket: ServerConnection) -> bytes | str | None:
        """A vla-eval client's hello; None for an openpi client, which waits. The address's path may decide it."""
        path = urlsplit(socket.request.path).path if socket.request is not None else ""
        if path == OPENPI_PATH or (socket.request is not None and CLIENT_HEADER in socket.request.headers):
            return None
        wait_s = None if path == VLA_EVAL_PATH else self._config.hello_wait_s
        try:
            return await asyncio.wait_for(socket.recv(), wait_s)
        except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
            return None

    def answer_http(self, socket: ServerConnection, request: HttpRequest) -> Response | None:
        """Answer requests for health and settings, and turn clients away; None lets the client connect."""
        path, query = urlsplit(request.path).path, urlsplit(request.path).query
        if path == "/healthz":
            return socket.respond(http.HTTPStatus.OK, "OK\n")
        if path == "/health":
            return _json(socket, {"status": "ok"})
        if not self._guard.has_key(request):
            return socket.respond(http.HTTPStatus.UNAUTHORIZED, "Authorization: Api-Key … is missing or wrong\n")
        if path == "/config":
            wanted = dict(parse_qsl(query))
            if objection := self._guard.objection_to_settings(request, changes=bool(wanted)):
                return socket.respond(http.HTTPStatus.FORBIDDEN, f"{objection}\n")
            return _json(socket, self._configure(wanted))
        if self.batcher.clients >= self._config.max_connections:
            text = f"all {self._config.max_connections} connections are in use\n"
            return socket.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None

    def _configure(self, wanted: Mapping[str, str]) -> dict[str, Any]:
        """Apply a query's batching settings, and return the current ones."""
        limits, applied, errors = self._config.limits, {}, []
        for name, text in wanted.items():
            try:
                value = {"max_batch_size": int, "max_wait_time": float}[name](text)
                if not (value >= 1 if name == "max_batch_size" else 0 <= value <= 10):
                    raise ValueError("out of range")
            except (KeyError, ValueError) as error:
                errors.append(f"{name}={text}: {'unknown' if isinstance(error, KeyError) else error}")
                continue
            setattr(limits, name, value)
            applied[name] = value
        now = {"max_batch_size": limits.max_batch_size, "max_wait_time": limits.max_wait_time}
        served = self.batcher.served
        return {
            "config": now,
            "applied": applied,
            **({"errors": errors} if errors else {}),
            "connections": self.batcher.clients,
            "requests": served.requests,
            "errors_told": served.errors,
            "batches": {str(size): count for size, count in sorted(served.batches.items())},
        }


async def serve(
    backend: Backend, config: ServerConfig, *, version: str, on_ready: Callable[[int], None] | None = None
) -> PolicyServer:
    """Serve until SIGINT or SIGTERM, or until the task is cancelled; `on_ready` is called with the port."""
    server = PolicyServer(backend, config, version)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    batching = asyncio.create_task(server.batcher.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        listening = serve_websockets(
            server.converse,
            config.host,
            config.port,
            process_request=server.answer_http,
            origins=[None],  # reject web pages
            compression=None,
            max_size=int(config.max_message_mb * 2**20),
            max_queue=1,  # a client has one request in flight
            open_timeout=config.open_wait_s,
            ping_interval=min(PING_EVERY_S, config.pong_wait_s),
            ping_timeout=config.pong_wait_s,
        )
        async with listening as open_server:
            if on_ready is not None:
                on_ready(next(iter(open_server.sockets)).getsockname()[1])
            await asyncio.wait({batching, stopping}, return_when=asyncio.FIRST_COMPLETED)
            # Clients that still wait for an answer are disconnected: the policy may take long.
            open_server.close(close_connections=False)
            for conversation in server.conversations:
                conversation.cancel()
            if batching.done():
                batching.result()
    except OSError as error:
        raise BackendError(
            f"cannot listen on {config.host}:{config.port}: {os.strerror(error.errno) if error.errno else error}; "
            "try another --host or --port"
        ) from error
    finally:
        batching.cancel()
        stopping.cancel()
    return server


def names_of(text: str) -> tuple[str, ...]:
    """Split names at commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _keep_alive(socket: ServerConnection) -> None:
    raw = socket.transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(sockets, name):  # not every system has them
                raw.setsockopt(sockets.IPPROTO_TCP, getattr(sockets, name), value)


def _json(socket: ServerConnection, content: Mapping[str, Any]) -> Response:
    response = socket.respond(http.HTTPStatus.OK, json.dumps(content) + "\n")
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    return response
