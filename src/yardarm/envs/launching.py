"""The main process's end of launchers."""

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

# One thread a worker: the workers are the parallelism, and more threads only fight for the same cores.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LP_NUM_THREADS": "1",
}
# Simulators that draw with pygame would look for a display, and introduce themselves.
WITHOUT_DISPLAY = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
# What a launcher runs. A file in the current directory must not stand in for a module of the standard library, and
# Yardarm comes from where it is, even to an interpreter that has none: a worker needs numpy beside it.
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


class _Killed(Exception):
    """Somebody, or the kernel for want of memory, has killed a launcher."""


class Launcher:
    """Starts a launcher process, has it fork and kill workers, and sees it off."""

    def __init__(self, home: Home, log: Path | None = None) -> None:
        python = home.python or sys.executable
        if home.python:
            check_interpreter(home.python)
        self._control, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as stack:
            output: Any = stack.enter_context(log.open("ab")) if log else subprocess.DEVNULL
            self._process = subprocess.Popen(
                # -u: a worker is killed when it is not needed any more, and what it printed must be in the log by then.
                [python, "-u", "-c", PROGRAM, str(yardarm.__file__)],
                stdin=theirs.fileno(),
                stdout=output,
                stderr=output,
                env={**shared_kernels(), **os.environ, **SINGLE_THREADED, **WITHOUT_DISPLAY},
                # A session of its own: Ctrl-C is for the main process, which ends the workers in its own time.
                start_new_session=True,
            )
        self._control.settimeout(PRELOAD_LIMIT_S)
        self._answers = Channel(self._control)
        try:
            complaint = self._preload(home)
        except BaseException:  # interrupted: it is still importing, and does not listen yet
            self._process.kill()
            self._process.wait()
            self._control.close()
            raise
        if complaint:
            self.close()
            by = f" of {home.python}" if home.python else ""
            raise SetupError(
                f"cannot import {', '.join(home.preload)} in a worker{by}: {complaint}; "
                "`yardarm info` shows what is installed"
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

    def how_ended(self, pid: int) -> str:
        """How a worker of this launcher that has hung up came to its end."""
        try:
            self._control.sendall(json.dumps({"op": "ended", "pid": pid}).encode())
            return self._receive()["how"]
        except OSError:
            return "its launcher was killed"

    def close(self) -> None:
        """Hang up, upon which the launcher kills its workers, and wait until it is gone."""
        self._control.close()
        try:
            self._process.wait(FAREWELL_LIMIT_S)
        except subprocess.TimeoutExpired:  # it hangs in an import; its workers die with it
            self._process.kill()
            self._process.wait()

    def _preload(self, home: Home) -> str | None:
        """Have the launcher import modules; return what went wrong, if anything did."""
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
            return "something in it has written into its connection"
        except (EOFError, OSError):
            return self._last_words()

    def _last_words(self) -> str:
        """How it ended in the middle of an import."""
        try:
            code = self._process.wait(FAREWELL_LIMIT_S)
        except subprocess.TimeoutExpired:
            return "the process that imports it has closed its connection"
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if -code in (signal.SIGKILL, signal.SIGTERM):
            raise _Killed(name)
        return f"the process that imports it crashed ({name})"

    def _receive(self) -> dict[str, Any]:
        try:
            return self._answers.receive()
        except EOFError:
            raise ConnectionError("the launcher has gone") from None


class Launchers:
    """One launcher for each home, started when it is first needed."""

    def __init__(self, log: Path | None = None) -> None:
        self._log = log
        self._launchers: dict[Home, Launcher] = {}

    def start(self, home: Home) -> Launcher:
        """The home's launcher, which has imported what it should."""
        if home not in self._launchers:
            self._launchers[home] = self._started(home)
        return self._launchers[home]

    def _started(self, home: Home) -> Launcher:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return Launcher(home, self._log)
            except _Killed as killed:
                if attempt == ATTEMPTS:
                    raise EnvironmentFault(
                        f"the process that imports {_named(home)} was killed {ATTEMPTS} times ({killed}); "
                        "is memory short?"
                    ) from killed
        raise AssertionError("the last attempt returns or raises")

    def fork(self, home: Home, environment: Mapping[str, str], descriptors: Sequence[int]) -> tuple[Launcher, int]:
        """Start a worker; return who started it, and its process id."""
        for _ in range(ATTEMPTS):
            launcher = self.start(home)
            try:
                return launcher, launcher.fork(environment, descriptors)
            except OSError:  # the launcher was killed: its workers died with it; start another
                self._launchers.pop(home).close()
        raise EnvironmentFault(f"cannot start workers that import {_named(home)}: the launcher keeps dying")

    def ask(
        self, home: Home, question: Ask, *, environment: Mapping[str, str] | None = None, time_limit_s: float = 300.0
    ) -> Any:
        """Have a fresh worker answer a question; what the user can mend is raised as such."""
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
        raise AssertionError(f"{report!r} is no answer")

    def find_renderer(self, home: Home) -> tuple[str, str]:
        """An OpenGL that works in the home's workers: its backend, and who renders."""
        complaints = []
        for backend in backends():
            try:
                question = Ask("yardarm.envs.rendering:renderer_name")
                return backend, self.ask(home, question, environment={"MUJOCO_GL": backend})
            except EnvironmentFault as fault:
                complaints.append(f"{backend}: {fault}")
        raise SetupError(f"nothing here can render ({'; '.join(complaints)}); {missing_renderer_hint()}")

    def close(self) -> None:
        """Wait until all launchers are gone, and their workers with them."""
        for launcher in self._launchers.values():
            launcher.close()
        self._launchers.clear()


def _named(home: Home) -> str:
    return ", ".join(home.preload) or "a simulator"
