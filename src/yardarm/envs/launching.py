"""The main process's side of launchers.

    main process                           launcher (one per `Home`)            worker
    Launcher() ─── start, setup ─────────▶ imports the simulator
       waits  ◀─────────────── {"pid"} ────┤
    fork() ─────── socket, memory ───────▶ os.fork() ─────────────────────────▶ serve()
       waits  ◀─────────────── {"pid"} ────┤                                      │
    ask() ════════ the worker's own socket: Ask, or Enter, Begin, Play, … ══════▶ │
       waits  ◀═══ Answered, or Seen, Finished, … ════════════════════════════════╡
    kill() ──────────────────────────────▶ SIGKILL ───────────────────────────▶ ends
    close() ────── closes the socket ────▶ kills all its workers, exits

A launcher serves one request at a time; the main process waits for each answer, at most 300 s. Importing the simulator
takes seconds, a fork 3 ms. Once forked, a worker is ordered over its own socket, without the launcher.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yardarm
from yardarm.envs.channel import Channel, StrayBytes
from yardarm.envs.interpreters import check_interpreter, paths_for
from yardarm.envs.messages import Answered, Ask, Failed, Refused, Report
from yardarm.envs.rendering import backends, missing_renderer_hint
from yardarm.errors import EnvironmentFault, SetupError, UsageError
from yardarm.machine import shared_kernels
from yardarm.own_modules import allowed_modules
from yardarm.tasks import Home

__all__ = ["SINGLE_THREADED", "Launcher", "Launchers"]

# One thread per worker: the workers already run in parallel, and more threads would only compete for the same cores.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LP_NUM_THREADS": "1",
}
# Otherwise simulators that draw with pygame look for a display and print a banner.
WITHOUT_DISPLAY = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
# What a launcher runs. A file in the current directory must not replace a module of the standard library. Yardarm is
# imported from where this process has it, even by an interpreter without Yardarm: that one needs only numpy.
PROGRAM = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import importlib.util
spec = importlib.util.spec_from_file_location("yardarm", sys.argv[1])
sys.modules["yardarm"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from yardarm.envs.launcher import main
main()
"""
PRELOAD_LIMIT_S = 300.0
FAREWELL_LIMIT_S = 10.0
ATTEMPTS = 3


class _LauncherKilled(Exception):
    """A launcher was killed, perhaps by the kernel because memory ran out."""


class Launcher:
    """A launcher process: started here, it forks and kills workers until it is closed."""

    def __init__(self, home: Home, log: Path | None = None, nice: int = 0) -> None:
        python = home.python or sys.executable
        if home.python:
            check_interpreter(home.python)
        self._control, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as stack:
            output: Any = stack.enter_context(log.open("ab")) if log else subprocess.DEVNULL
            self._process = subprocess.Popen(
                # -u: workers are killed when they are no longer needed, and must have written their output by then.
                [python, "-u", "-c", PROGRAM, str(yardarm.__file__)],
                stdin=theirs.fileno(),
                stdout=output,
                stderr=output,
                env={**shared_kernels(), **os.environ, **SINGLE_THREADED, **WITHOUT_DISPLAY},
                # A separate session: Ctrl-C is for the main process only, which then ends the workers.
                start_new_session=True,
            )
        if nice:  # its workers inherit it
            os.setpriority(os.PRIO_PROCESS, self._process.pid, nice)
        self._control.settimeout(PRELOAD_LIMIT_S)
        self._answers = Channel(self._control)
        try:
            complaint = self._preload(home)
        except BaseException:  # interrupted: the launcher is still importing and does not listen yet
            self._process.kill()
            self._process.wait()
            self._control.close()
            raise
        if complaint:
            self.close()
            by = f" of {home.python}" if home.python else ""
            raise SetupError(
                f"cannot import {', '.join(home.preload)} in a worker{by}: {complaint}; "
                "run `yardarm info` to see what is installed"
            )

    def fork(self, environment: Mapping[str, str], descriptors: Sequence[int]) -> int:
        """Start a worker with these descriptors; return its process id."""
        request = {"op": "fork", "environment": dict(environment)}
        socket.send_fds(self._control, [json.dumps(request).encode()], list(descriptors))
        answer = self._receive()
        if "error" in answer:
            raise EnvironmentFault(f"cannot start a worker: {answer['error']}")
        return answer["pid"]

    def kill(self, pid: int) -> None:
        """Kill a worker of this launcher."""
        self._control.sendall(json.dumps({"op": "kill", "pid": pid}).encode())
        self._receive()

    def how_ended(self, pid: int) -> str:
        """How a worker of this launcher that closed its connection ended."""
        try:
            self._control.sendall(json.dumps({"op": "ended", "pid": pid}).encode())
            return self._receive()["how"]
        except OSError:
            return "its launcher was killed"

    def close(self) -> None:
        """Close the socket, so that the launcher kills its workers and exits; wait for that."""
        self._control.close()
        try:
            self._process.wait(FAREWELL_LIMIT_S)
        except subprocess.TimeoutExpired:  # it hangs in an import; its workers will die with it
            self._process.kill()
            self._process.wait()

    def _preload(self, home: Home) -> str | None:
        """Make the launcher import modules; return what went wrong, if anything."""
        try:
            self._answers.send(
                {
                    "modules": list(home.preload),
                    "path": paths_for(home.python),
                    "own_modules": allowed_modules(),
                    "parent": os.getpid(),
                }
            )
            return self._answers.receive().get("error")
        except TimeoutError:
            return f"it takes more than {PRELOAD_LIMIT_S:g} s"
        except StrayBytes:
            return "something in it wrote into its connection"
        except (EOFError, OSError):
            return self._last_words()

    def _last_words(self) -> str:
        """How the launcher ended during an import."""
        try:
            code = self._process.wait(FAREWELL_LIMIT_S)
        except subprocess.TimeoutExpired:
            return "the process that imports it closed its connection"
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if -code in (signal.SIGKILL, signal.SIGTERM):
            raise _LauncherKilled(name)
        return f"the process that imports it crashed ({name})"

    def _receive(self) -> dict[str, Any]:
        try:
            return self._answers.receive()
        except EOFError:
            raise ConnectionError("the launcher has ended") from None


class Launchers:
    """One launcher for each home, started when it is first needed."""

    def __init__(self, log: Path | None = None, nice: int = 0) -> None:
        self._log = log
        self._nice = nice
        self._launchers: dict[Home, Launcher] = {}

    def start(self, home: Home) -> Launcher:
        """The home's launcher, with its modules imported."""
        if home not in self._launchers:
            self._launchers[home] = self._started(home)
        return self._launchers[home]

    def _started(self, home: Home) -> Launcher:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return Launcher(home, self._log, self._nice)
            except _LauncherKilled as killed:
                if attempt == ATTEMPTS:
                    raise EnvironmentFault(
                        f"the process that imports {_named(home)} was killed {ATTEMPTS} times ({killed}); "
                        "did memory run out?"
                    ) from killed
        raise AssertionError("the last attempt returns or raises")

    def fork(self, home: Home, environment: Mapping[str, str], descriptors: Sequence[int]) -> tuple[Launcher, int]:
        """Start a worker; return its launcher and its process id."""
        for _ in range(ATTEMPTS):
            launcher = self.start(home)
            try:
                return launcher, launcher.fork(environment, descriptors)
            except OSError:  # the launcher was killed, and its workers with it; start another
                self._launchers.pop(home).close()
        raise EnvironmentFault(f"cannot start workers that import {_named(home)}: the launcher keeps dying")

    def ask(
        self, home: Home, question: Ask, *, environment: Mapping[str, str] | None = None, time_limit_s: float = 300.0
    ) -> Any:
        """Let a new worker answer a question; raise `UsageError` for what the user can fix."""
        ours, theirs = socket.socketpair()
        ours.settimeout(time_limit_s)
        channel = Channel(ours)
        with contextlib.closing(channel):
            with theirs:
                launcher, pid = self.fork(home, environment or {}, [theirs.fileno()])
            try:
                channel.send(question)
                report: Report = channel.receive()
            except (EOFError, OSError) as error:
                reason = f"no answer within {time_limit_s:g} s" if isinstance(error, TimeoutError) else "it crashed"
                raise EnvironmentFault(f"{question.function} failed in a worker: {reason}") from error
            finally:
                with contextlib.suppress(OSError):
                    launcher.kill(pid)
        match report:
            case Answered(value):
                return value
            case Refused(reason):
                raise UsageError(reason)
            case Failed(traceback):
                raise EnvironmentFault(traceback.strip().splitlines()[-1])
        raise AssertionError(f"{report!r} is not an answer")

    def find_renderer(self, home: Home) -> tuple[str, str]:
        """An OpenGL backend that works in the home's workers, and the renderer's name."""
        complaints = []
        for backend in backends():
            try:
                question = Ask("yardarm.envs.rendering:renderer_name")
                return backend, self.ask(home, question, environment={"MUJOCO_GL": backend})
            except EnvironmentFault as fault:
                complaints.append(f"{backend}: {fault}")
        raise SetupError(f"nothing here can render ({'; '.join(complaints)}); {missing_renderer_hint()}")

    def close(self) -> None:
        """End all launchers and their workers, and wait for that."""
        for launcher in self._launchers.values():
            launcher.close()
        self._launchers.clear()


def _named(home: Home) -> str:
    return ", ".join(home.preload) or "a simulator"
