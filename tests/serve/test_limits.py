"""What one client, or one page in a browser, can cost the others."""

from __future__ import annotations

import http.server
import json
import socket
import struct
import threading
import time
import tracemalloc
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser import needs_browser, open_browser
from tests.helpers import wait_until
from tests.serve.running import Doubler, OpenpiClient, Running, VlaEvalClient, running
from yardarm_serve.counting import excess
from yardarm_serve.wire import Malformed, unpack

HERE = {"observation.state": np.array([1.0, 2.0], np.float32)}
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.binary())
TREES = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=20), st.dictionaries(st.text(), inner, max_size=20))
)


def empty_maps(how_many: int) -> bytes:
    return b"\x81\xa1x\xdd" + struct.pack(">I", how_many) + b"\x80" * how_many


def inside(value: Any) -> int:
    """How many objects there are below a value."""
    if isinstance(value, dict):
        return sum(2 + inside(item) for item in value.values())
    return sum(1 + inside(item) for item in value) if isinstance(value, list) else 0


@given(TREES)
def test_objects_are_counted_before_they_are_made(value: Any) -> None:
    packed = msgpack.packb(value)
    assert excess(packed, most_objects=inside(value)) is None
    assert inside(value) == 0 or "objects" in str(excess(packed, most_objects=inside(value) - 1))


@pytest.mark.parametrize(
    "large",
    [
        b"\xc4\xff" + b"x" * 255,
        b"\xc5\1\0" + b"x" * 256,
        b"\xc6\0\1\0\0" + b"x" * 2**16,
        b"\xc7\2\5xx",
        b"\xd8\1" + b"x" * 16,
    ],
)
def test_long_bytes_and_extensions_are_one_object(large: bytes) -> None:
    assert excess(b"\x92" + large + b"\x81\xa1x\x80", most_objects=4) is None
    assert excess(b"\x92" + large + b"\x81\xa1x\x80", most_objects=3) is not None


@pytest.mark.parametrize(
    ("what", "message", "reason"),
    [
        ("empty maps", empty_maps(8 * 2**20), "more than 100000 objects; send numbers as arrays"),
        ("a list that says it is long", b"\xdd\xff\xff\xff\xff", "more than 100000 objects"),
        ("lists in lists", b"\x91" * 1000 + b"\x80", "nested more than 64 deep"),
        ("maps in maps", b"\x81\xa1x" * 1000 + b"\x80", "nested more than 64 deep"),
        (
            "an array of many dimensions",
            msgpack.packb({"__ndarray__": True, "dtype": "<f4", "data": b"", "shape": [2**63] * 50_000}),
            "an array has 50000 dimensions",
        ),
    ],
)
def test_a_message_costs_little_whatever_it_holds(what: str, message: bytes, reason: str) -> None:
    tracemalloc.start()
    started = time.perf_counter()
    with pytest.raises(Malformed, match=reason):
        unpack(message)
    assert time.perf_counter() - started < 2
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


@pytest.mark.parametrize("client", [OpenpiClient, VlaEvalClient])
def test_nobody_waits_for_a_message_of_empty_maps(client: type[OpenpiClient | VlaEvalClient]) -> None:
    with running(Doubler()) as server:
        bad, waits = client(server.url), [0.0]
        over = threading.Event()

        def look() -> None:
            while not over.is_set():
                started = time.perf_counter()
                assert get(server, "/healthz") == "OK\n"
                waits.append(time.perf_counter() - started)

        looking = threading.Thread(target=look)
        looking.start()
        bad.socket.send(empty_maps(8 * 2**20))
        assert "more than 100000 objects" in repr(bad.socket.recv(30))
        over.set()
        looking.join()
        assert max(waits) < 1
        assert OpenpiClient(server.url).infer(HERE)["actions"].shape == (2, 2)


def test_a_list_of_text_is_no_array() -> None:
    texts = ["a"] * 1000 + ["b" * 1_000_000]  # as an array, each takes as much room as the longest: 4 GB
    with running(Doubler()) as server:
        with pytest.raises(RuntimeError, match=r"'observation\.state' is a list that does not only contain numbers"):
            OpenpiClient(server.url).infer({"observation.state": texts})
        with pytest.raises(RuntimeError, match=r"'observation\.state' is not an array"):
            OpenpiClient(server.url).infer({"observation.state": [[1.0], [1.0, 2.0]]})
        client = OpenpiClient(server.url)
        assert client.infer({**HERE, "unread": texts})["actions"].shape == (2, 2)
        assert client.infer({"observation.state": [1.0, 2.0]})["actions"][0].tolist() == [2, 4]


def test_a_client_cannot_ask_for_actions_of_any_size() -> None:
    complaint = "action_size must be between 1 and 10000, got 1000000000000"
    with running(Doubler()) as server, pytest.raises(RuntimeError, match=complaint):
        OpenpiClient(server.url).infer({"yardarm": {"begin": {"action_size": 10**12}, "looks": [[0, HERE]]}})


def test_what_was_sent_is_not_told_at_any_length() -> None:
    with running(Doubler()) as server, pytest.raises(RuntimeError, match="and 9980 more") as told:
        OpenpiClient(server.url).infer({f"input {number}": 1 for number in range(10_000)})
    assert len(str(told.value)) < 1000


# Pages of others.


def get(server: Running, path: str, **headers: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def settings(server: Running, **headers: str) -> dict[str, Any]:
    return json.loads(get(server, "/config", **headers))["config"]


@contextmanager
def page_of_others(content: str) -> Iterator[str]:
    """A page on another port, and so of another origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        yield f"http://localhost:{other.server_port}/"
        other.shutdown()


EVIL = """<body><script>
const server = "http://127.0.0.1:PORT", done = [];
const image = new Image();
done.push(new Promise((end) => { image.onerror = image.onload = end; }));
image.referrerPolicy = "no-referrer";
image.src = server + "/config?max_batch_size=11";
done.push(fetch(server + "/config?max_batch_size=12", {mode: "no-cors"}).catch(() => 0));
done.push(fetch(server + "/config?max_batch_size=13", {mode: "no-cors", method: "POST", body: "x"}).catch(() => 0));
for (const method of ["GET", "POST"]) {
  const frame = document.createElement("iframe");
  frame.name = method;
  const form = document.createElement("form");
  form.target = method; form.method = method; form.action = server + "/config";
  form.innerHTML = '<input name="max_batch_size" value="14">';
  document.body.append(frame, form);
  done.push(new Promise((end) => { frame.onload = end; setTimeout(end, 2000); }));
  form.submit();
}
const socket = new WebSocket(server.replace("http", "ws"));
window.talked = false;
done.push(new Promise((end) => { socket.onerror = end; socket.onopen = () => { window.talked = true; end(); }; }));
Promise.all(done).then(() => { document.title = "done"; });
</script></body>"""


@needs_browser
def test_a_page_in_a_real_browser_changes_nothing() -> None:
    with running(Doubler()) as server, open_browser() as browser:
        with page_of_others(EVIL.replace("PORT", str(server.port))) as address:
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function("document.title == 'done'")
            assert not page.evaluate("window.talked")
        assert settings(server) == {"max_batch_size": 64, "max_wait_time": None}


BROWSERS = [
    {"Origin": "http://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},  # to another machine
    {"Host": "evil.example"},  # whose name points here
    {"Host": ""},
]


@pytest.mark.parametrize("headers", BROWSERS, ids=[str(headers) for headers in BROWSERS])
def test_what_may_come_from_a_page_changes_no_settings(headers: dict[str, str]) -> None:
    with running(Doubler()) as server:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(server, "/config?max_batch_size=1", **headers)
        assert settings(server)["max_batch_size"] == 64


@pytest.mark.parametrize(
    "host", ["gpu-machine", "192.168.1.5:8000", "[fe80::1]:8000", "gpu.local", "LOCALHOST:1", "a.b.internal"]
)
def test_settings_are_told_by_any_name_that_nobody_can_buy(host: str) -> None:
    with running(Doubler()) as server:
        assert settings(server, Host=host)["max_batch_size"] == 64


def test_other_names_of_a_server_are_allowed_by_a_flag() -> None:
    with running(Doubler(), allowed_hosts=("GPU.example.org",)) as server:
        assert settings(server, Host="gpu.example.org:8000")["max_batch_size"] == 64
        with pytest.raises(urllib.error.HTTPError) as refused:
            settings(server, Host="gpu.example.org.evil.example")
        assert "start it with --allowed_hosts=gpu.example.org.evil.example" in refused.value.read().decode()


def test_programs_come_in_by_any_name() -> None:
    with running(Doubler()) as server:
        assert OpenpiClient(server.url, Host="gpu.example.org").infer(HERE)["actions"].shape == (2, 2)


# Connections that take up room.

UPGRADE = (
    b"GET /openpi HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\n"])
def test_a_request_that_dribbles_in_is_cut_off(first: bytes) -> None:
    with running(Doubler(), open_wait_s=0.5) as server, socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(first)
        assert seconds_until_closed(slow, dribble=b"X-Slow: 1\r\n" if first else b"") < 5


@pytest.mark.slow
def test_a_client_that_answers_no_ping_is_disconnected() -> None:
    with (
        running(Doubler(), pong_wait_s=0.5) as server,
        socket.create_connection(("127.0.0.1", server.port)) as silent,
    ):
        silent.sendall(UPGRADE)
        wait_until(lambda: json.loads(get(server, "/config"))["connections"] == 1)
        wait_until(lambda: json.loads(get(server, "/config"))["connections"] == 0)


def test_a_client_that_says_nothing_for_long_is_kept_while_it_answers_pings() -> None:
    with running(Doubler(), pong_wait_s=0.3) as server:
        client = OpenpiClient(server.url)
        time.sleep(1.5)
        assert client.infer(HERE)["actions"].shape == (2, 2)


def seconds_until_closed(connection: socket.socket, dribble: bytes) -> float:
    started = time.perf_counter()
    connection.settimeout(0.1)
    while time.perf_counter() - started < 30:
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
    return time.perf_counter() - started
