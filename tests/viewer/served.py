"""The viewer as users start it: ``yardarm view`` in a process of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.helpers import start_yardarm

Answer = tuple[int, Any]


def viewing(folder: Path, *words: str) -> contextlib.AbstractContextManager[str]:
    """Serve a folder of runs, and give the address."""
    return serving("view", folder, *words)


def viewing_datasets(*words: object) -> contextlib.AbstractContextManager[str]:
    """Serve datasets, and give the address without the page that would be opened first."""
    return serving("dataset", "view", *words)


@contextlib.contextmanager
def serving(*words: object) -> Iterator[str]:
    process = start_yardarm(*words, "--open=false")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http" in line, (line, process.stderr and process.stderr.read())
        url = urlsplit(line.split(" at ")[1].split()[0])
        yield f"{url.scheme}://{url.netloc}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def unlikely_port() -> int:
    """A free port that no viewer takes by itself, for one that must be found there again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def ask(address: str, path: str, headers: dict[str, str] | None = None, **values: Any) -> Answer:
    """The status and the content of an answer."""
    request = urllib.request.Request(f"{address}{path}?{urlencode(values, doseq=True)}", headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        with contextlib.suppress(ValueError):
            return error.code, json.loads(text)
        return error.code, text


def events(address: str, path: str, **values: object) -> Iterator[dict[str, Any]]:
    """What a page that listens hears."""
    with urllib.request.urlopen(f"{address}{path}?{urlencode(values)}", timeout=30) as stream:
        for line in stream:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def send(address: str, path: str, **content: Any) -> Answer:
    """Send a change as a page does, and give the status and the content of the answer."""
    request = urllib.request.Request(
        f"{address}{path}", json.dumps(content).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
