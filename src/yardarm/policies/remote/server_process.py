"""A server in another Python, started and stopped by the policy that asks it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yardarm_serve
from yardarm.errors import ConnectionFault, SetupError, UsageError

__all__ = ["ServerProcess"]

# The server's package comes from where it is, even to an interpreter that has none of it installed.
PROGRAM = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import importlib.util
spec = importlib.util.spec_from_file_location("yardarm_serve", sys.argv.pop(1))
sys.modules["yardarm_serve"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from yardarm_serve.cli import main
sys.exit(main())
"""
FAREWELL_LIMIT_S = 10.0
MISSING = "No module named "
# What the server needs beside LeRobot.
SMALL_PACKAGES = ("msgpack", "websockets")


class ServerProcess:
    """Says on which port it listens, ends when this process does, and writes what it has to say into a log."""

    def __init__(self, python: str, arguments: Sequence[str]) -> None:
        self._python = python
        self._arguments = list(arguments)
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()
        self._closed = False
        with tempfile.NamedTemporaryFile(prefix="yardarm-serve-", suffix=".log", delete=False) as file:
            self._log = Path(file.name)

    def start(self) -> str:
        """Start it, unless it runs, wait until it listens, and return its address."""
        with self._starting:
            if self._closed:
                raise ConnectionFault("the policy's server is closed")
            if self._process is None or self._process.poll() is not None:
                self._launch()
            return f"ws://127.0.0.1:{self._port}"

    def close(self) -> None:
        """End it, even while it is starting, and wait until it is gone."""
        self._closed = True
        if self._process is not None:
            _end(self._process)
        with self._starting:  # who was waiting for its first word has heard that there is none
            if self._process is not None:
                _end(self._process)
            self._process = None
            self._log.unlink(missing_ok=True)

    def _launch(self) -> None:
        """Start the process and wait for its first word."""
        is_first = self._port == 0
        command = [self._python, "-c", PROGRAM, yardarm_serve.__file__, "--announce", f"--port={self._port}"]
        with self._log.open("a") as log:
            try:
                process = subprocess.Popen(
                    [*command, *self._arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    # A session of its own: Ctrl-C is for the main process, which ends the server in its own time.
                    start_new_session=True,
                )
            except OSError as error:
                self._log.unlink(missing_ok=True)
                raise UsageError(f"--policy.python={self._python} cannot be run: {error.strerror}") from error
        self._process = process
        try:
            said = _first_word(process)
        except BaseException:  # interrupted while the policy was being loaded
            _end(process)
            self._log.unlink(missing_ok=True)
            raise
        if "port" in said:
            self._port = int(said["port"])
            return
        _end(process)
        if not is_first or self._closed:
            raise ConnectionFault(f"the policy's server could not be started again: {self._complaint(said)}")
        raise self._explained(said)

    def _complaint(self, said: dict[str, Any]) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return str(said.get("error") or said.get("failure") or (lines or ["it ended without a word"])[-1])

    def _explained(self, said: dict[str, Any]) -> UsageError:
        complaint = self._complaint(said)
        if MISSING in complaint:
            self._log.unlink(missing_ok=True)
            module = complaint.rpartition(MISSING)[2].strip("'\". ").partition(".")[0].partition("'")[0]
            if module in SMALL_PACKAGES:
                return SetupError(
                    f"--policy.python={self._python} has no {module}: {self._python} -m pip install msgpack websockets"
                )
            return SetupError(
                f"--policy.python={self._python} is no Python of an environment that has LeRobot: it has no {module}"
            )
        if "error" in said:
            self._log.unlink(missing_ok=True)
            return UsageError(complaint)
        return UsageError(f"the policy's server could not be started: {complaint}; its log is {self._log}")


def _first_word(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        return json.loads(process.stdout.readline())
    except ValueError:  # it ended without a word
        return {}


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        process.terminate()
    try:
        process.wait(FAREWELL_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):  # another thread reads its first word
                stream.close()
