"""Servers that run beside a test, and clients that speak their protocols byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack
import numpy as np
from websockets.sync.client import ClientConnection, connect

from yardarm_serve import Answer, Backend, Contract, Episode, Request, ServerConfig, serve
from yardarm_serve.batching import Limits


class Doubler:
    """Answers with two actions: twice the state, and how many looks the episode has shown."""

    def __init__(self, pause_s: float = 0.0, **contract: Any) -> None:
        self.contract = Contract(
            **{"id": "doubler", "inputs": {"observation.state": (2,)}, "action_size": 2, **contract}
        )
        self.pause_s = pause_s
        self.batches: list[int] = []
        self.episodes: list[Episode] = []

    def start(self, episode: Episode) -> list[int]:
        self.episodes.append(episode)
        return [0]

    def infer(self, requests: Sequence[Request]) -> list[Answer]:
        self.batches.append(len(requests))
        time.sleep(self.pause_s)
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        state = request.looks[-1].values["observation.state"]
        if np.any(state > 1e6):
            raise RuntimeError("too far away")
        request.state[0] += len(request.looks)
        return Answer(np.array([2 * state, [request.state[0]] * 2]))


class Running:
    """A server in a thread, which can be stopped and started again on its port."""

    def __init__(self, backend: Backend, **options: Any) -> None:
        self.backend = backend
        self.options = {"port": 0, **options}
        self.start()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        self.options["port"] = self.port

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        config = ServerConfig(**{"limits": Limits(), "hello_wait_s": 0.15, **self.options})
        self._task = asyncio.create_task(serve(self.backend, config, version="1.2.3", on_ready=self._take_port))
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    def _take_port(self, port: int) -> None:
        self.port = port
        self._ready.set()


@contextlib.contextmanager
def running(backend: Backend, **options: Any) -> Iterator[Running]:
    server = Running(backend, **options)
    try:
        yield server
    finally:
        server.stop()


def opened(url: str, **options: Any) -> ClientConnection:
    return connect(url, compression=None, max_size=None, **options).__enter__()


class OpenpiClient:
    """openpi's client: waits for the metadata, then sends observations."""

    def __init__(self, url: str, **headers: str) -> None:
        self.socket = opened(url, additional_headers=headers)
        self.metadata = msgpack.unpackb(self.socket.recv(5))

    def infer(self, observation: dict[str, Any] | bytes) -> dict[Any, Any]:
        is_packed = isinstance(observation, bytes)
        self.socket.send(observation if is_packed else msgpack.packb(observation, default=as_bytes_map))
        return self.receive()

    def receive(self) -> dict[Any, Any]:
        answer = self.socket.recv(10)
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return msgpack.unpackb(answer, object_hook=from_bytes_map)


class VlaEvalClient:
    """vla-eval's client: says hello, then plays episodes."""

    def __init__(self, url: str) -> None:
        self.socket = opened(url)
        self.seq = 0
        self.hello = self.exchange("hello", harness_version="0.8.0", protocol_version=1)

    def send(self, kind: str, **payload: Any) -> None:
        self.seq += 1
        message = {"type": kind, "payload": payload, "seq": self.seq, "timestamp": time.time()}
        self.socket.send(msgpack.packb(message, default=as_text_map))

    def exchange(self, kind: str, **payload: Any) -> dict[str, Any]:
        self.send(kind, **payload)
        return self.receive()

    def receive(self) -> dict[str, Any]:
        data = self.socket.recv(10)
        assert isinstance(data, bytes)
        return msgpack.unpackb(data, object_hook=from_text_map)


def as_bytes_map(array: np.ndarray) -> dict[bytes, Any]:
    return {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": array.shape}


def from_bytes_map(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" not in value:
        return value
    return np.ndarray(buffer=value[b"data"], dtype=value[b"dtype"], shape=value[b"shape"])


def as_text_map(array: np.ndarray) -> dict[str, Any]:
    return {"__ndarray__": True, "data": array.tobytes(), "dtype": array.dtype.str, "shape": list(array.shape)}


def from_text_map(value: dict[Any, Any]) -> Any:
    if "__ndarray__" not in value:
        return value
    return np.frombuffer(value["data"], dtype=value["dtype"]).reshape(value["shape"])
