"""Small servers that speak openpi's and vla-eval's protocols as their own do, and know nothing of Yardarm."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.serve.running import as_bytes_map, as_text_map, from_bytes_map, from_text_map

Answering = Callable[[dict[str, Any]], np.ndarray]


class PlainServer:
    """One thread for each connection; what it was sent is kept."""

    def __init__(self, answer: Answering, **options: Any) -> None:
        self.answer = answer
        self.options = options
        self.seen: list[dict[str, Any]] = []
        self.events: list[str] = []
        self.connections = 0
        self._server = serve(self._talk, "127.0.0.1", 0, compression=None, max_size=None)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(5)

    def _talk(self, socket: ServerConnection) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionClosed):
            self.converse(socket)

    def converse(self, socket: ServerConnection) -> None:
        raise NotImplementedError


class OpenpiServer(PlainServer):
    """Options: `metadata`; `silence_s` before it."""

    def converse(self, socket: ServerConnection) -> None:
        time.sleep(self.options.get("silence_s", 0))
        socket.send(msgpack.packb(self.options.get("metadata", {}), default=as_bytes_map))
        for frame in socket:
            try:
                observation = msgpack.unpackb(frame, object_hook=from_bytes_map)
                self.seen.append(observation)
                answer = {"actions": self.answer(observation), "policy_timing": {"infer_ms": 1.0}}
                socket.send(msgpack.packb(answer, default=as_bytes_map))
            except Exception as error:
                socket.send(f"Traceback (most recent call last):\n  …\n{type(error).__name__}: {error}")
                socket.close(1011)


class VlaEvalServer(PlainServer):
    """Options: `hello`, what it declares besides."""

    def converse(self, socket: ServerConnection) -> None:
        for frame in socket:
            message = msgpack.unpackb(frame, object_hook=from_text_map)
            kind, payload, seq = message["type"], message["payload"], message["seq"]
            self.events.append(kind)
            if kind == "hello":
                hello = {"harness_version": "0.8.0", "protocol_version": 1, "model_server": "Toy", "capabilities": {}}
                self._send(socket, "hello", {**hello, **self.options.get("hello", {})}, seq)
            elif kind == "observation":
                self.seen.append(payload)
                try:
                    self._send(socket, "action", {"actions": self.answer(payload)}, seq)
                except ArithmeticError as error:
                    self._send(socket, "error", {"error": f"observation_failed: {error}"}, seq)

    @staticmethod
    def _send(socket: ServerConnection, kind: str, payload: dict[str, Any], seq: int) -> None:
        message = {"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}
        socket.send(msgpack.packb(message, default=as_text_map))


@contextlib.contextmanager
def open_server(kind: type[PlainServer], answer: Answering, **options: Any) -> Iterator[Any]:
    server = kind(answer, **options)
    try:
        yield server
    finally:
        server.close()
