"""The viewer as users start it: ``yardarm view`` in a process of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.helpers import start_yardarm

Answer = tuple[int, Any]


@contextlib.contextmanager
def viewing(folder: Path, *words: str) -> Iterator[str]:
    """Serve a folder, and give the address."""
    process = start_yardarm("view", folder, "--open=false", *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http" in line, (line, process.stderr and process.stderr.read())
        yield line.split(" at ")[1].split()[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


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
