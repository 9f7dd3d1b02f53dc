"""Connections that only take up room are closed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from yardarm.viewer import connections
from yardarm.viewer.server import Listening, ViewOptions, serve_viewer

HEAD = b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def viewer(folder: Path) -> Iterator[int]:
    """A viewer's port; it runs here, so that a test can make it less patient."""
    ready, over = threading.Event(), threading.Event()
    ports: list[int] = []

    def say_ready(address: str) -> None:
        ports.append(int(address.rpartition(":")[2]))
        ready.set()

    options = ViewOptions(folder, Listening(port=0))
    running = threading.Thread(target=serve_viewer, args=(options, say_ready, over.wait), daemon=True)
    running.start()
    assert ready.wait(30)
    yield ports[0]
    over.set()
    running.join(30)
    assert not running.is_alive()


@pytest.mark.parametrize(
    ("first", "dribble"),
    [
        (b"", b""),
        (HEAD, b""),
        (HEAD, b"X-Slow: 1\r\n"),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"x"),
        (HEAD + b"\r\n", b""),
        (HEAD + b"\r\n" + HEAD, b"X-Slow: 1\r\n"),
    ],
    ids=["silent", "half", "dribbled head", "dribbled body", "idle", "dribbled second"],
)
def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    first: bytes, dribble: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_WITHIN_S", 0.5)
    with viewer(tmp_path) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(first)
        assert seconds_until_closed(slow, dribble) < 10


def test_a_page_that_listens_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_WITHIN_S", 0.3)
    with viewer(tmp_path) as port, socket.create_connection(("127.0.0.1", port)) as page:
        page.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        page.settimeout(5)
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            assert page.recv(4096), "the stream was cut off"


def test_connections_inherit_what_the_kernel_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections.close_dead_connections(listening)
        with socket.create_connection(listening.getsockname()) as _:
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 120_000


def seconds_until_closed(connection: socket.socket, dribble: bytes) -> float:
    started = time.monotonic()
    connection.settimeout(0.1)
    while time.monotonic() - started < 20:
        try:
            if dribble:
                connection.sendall(dribble)
            while connection.recv(4096):
                pass
            break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - started
