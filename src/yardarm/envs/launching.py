"""The main process's end of a launcher."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.envs.channel import Channel
from yardarm.errors import EnvironmentFault, SetupError

__all__ = ["SINGLE_THREADED", "Launcher"]

# One thread a worker: the workers are the parallelism, and more threads only fight for the same cores.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LP_NUM_THREADS": "1",
}
PRELOAD_LIMIT_S = 300.0
FAREWELL_LIMIT_S = 10.0


class Launcher:
    """Starts a launcher process, has it fork and kill workers, and sees it off."""

    def __init__(self, modules: Sequence[str], log: Path | None = None) -> None:
        self._control, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as stack:
            output: Any = stack.enter_context(log.open("ab")) if log else subprocess.DEVNULL
            self._process = subprocess.Popen(
                # -P: a file in the current directory must not stand in for a module of the standard library.
                [sys.executable, "-P", "-c", "from yardarm.envs.launcher import main; main()"],
                stdin=theirs.fileno(),
                stdout=output,
                stderr=output,
                env={**os.environ, **SINGLE_THREADED},
                # A session of its own: Ctrl-C is for the main process, which ends the workers in its own time.
                start_new_session=True,
            )
        self._control.settimeout(PRELOAD_LIMIT_S)
        self._answers = Channel(self._control)
        try:
            complaint = self._preload(modules)
        except BaseException:  # interrupted: it is still importing, and does not listen yet
            self._process.kill()
            self._process.wait()
            raise
        if complaint:
            self.close()
            raise SetupError(
                f"cannot import {', '.join(modules)} in a worker: {complaint}; `yardarm info` shows what is installed"
            )

    def fork(self, environment: Mapping[str, str], descriptors: Sequence[int]) -> int:
        """Start a worker that owns these descriptors; return its process id."""
        request = {"op": "fork", "environment": dict(environment)}
        socket.send_fds(self._control, [json.dumps(request).encode()], list(descriptors))
        answer = self._receive()
        if "error" in answer:
            raise EnvironmentFault(f"a worker cannot be started: {answer['error']}")
        return answer["pid"]

    def kill(self, pid: int) -> None:
        """Kill a worker of this launcher."""
        self._control.sendall(json.dumps({"op": "kill", "pid": pid}).encode())
        self._receive()

    def close(self) -> None:
        """Hang up, upon which the launcher kills its workers, and wait until it is gone."""
        self._control.close()
        try:
            self._process.wait(FAREWELL_LIMIT_S)
        except subprocess.TimeoutExpired:  # it hangs in an import; its workers die with it
            self._process.kill()
            self._process.wait()

    def _preload(self, modules: Sequence[str]) -> str | None:
        """Have the launcher import modules; return what went wrong, if anything did."""
        try:
            path = [str(entry) for entry in sys.path]
            self._answers.send({"modules": list(modules), "path": path, "parent": os.getpid()})
            return self._answers.receive().get("error")
        except TimeoutError:
            return f"it takes more than {PRELOAD_LIMIT_S:g} s"
        except (EOFError, OSError):
            return "the process that imports it crashed"

    def _receive(self) -> dict[str, Any]:
        try:
            return self._answers.receive()
        except EOFError:
            raise ConnectionError("the launcher has gone") from None
