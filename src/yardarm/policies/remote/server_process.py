"""A server in another Python, started and stopped by whoever asks it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

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


class ServerProcess:
    """Says on which port it listens, ends when this process does, and writes what it has to say into a log."""

    def __init__(self, python: str, arguments: Sequence[str]) -> None:
        self._python = python
        self._arguments = list(arguments)
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        with tempfile.NamedTemporaryFile(prefix="yardarm-serve-", suffix=".log", delete=False) as file:
            self._log = Path(file.name)

    def start(self) -> str:
        """Start it, unless it runs, wait until it listens, and return its address."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                is_first = self._port == 0
                complaint = self._launch()
                if complaint and is_first:
                    self._log.unlink(missing_ok=True)
                    raise self._explained(complaint)
                if complaint:
                    raise ConnectionFault(f"the policy's server could not be started again: {complaint}")
            return f"ws://127.0.0.1:{self._port}"

    def close(self) -> None:
        """End it, and wait until it is gone."""
        with self._lock:
            if self._process is not None:
                self._end(self._process)
                self._process = None
            self._log.unlink(missing_ok=True)

    def _launch(self) -> str | None:
        """Start the process and hear from it; return what went wrong, if anything did."""
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
                raise UsageError(f"--policy.python={self._python} cannot be run: {error.strerror}") from error
        assert process.stdout is not None
        try:
            said = self._first_line(process.stdout)
        except BaseException:  # interrupted while the policy was being loaded
            self._end(process)
            raise
        self._process = process
        if "port" in said:
            self._port = int(said["port"])
            return None
        process.wait()
        return str(said.get("error") or self._last_words())

    @staticmethod
    def _first_line(output: IO[str]) -> dict[str, Any]:
        try:
            return json.loads(output.readline())
        except ValueError:  # it ended without a word
            return {}

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    def _explained(self, complaint: str) -> UsageError:
        if MISSING in complaint:
            module = complaint.partition(MISSING)[2].strip("'").partition(".")[0].strip("'")
            return SetupError(
                f"--policy.python={self._python} has no {module}; it needs lerobot, msgpack and websockets: "
                f"{self._python} -m pip install msgpack websockets"
            )
        return UsageError(complaint)

    @staticmethod
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
                stream.close()
