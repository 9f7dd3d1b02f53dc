"""The launcher: a small process that imports a simulator once and forks clean workers from it.

Its standard input is a socket. After a setup it serves requests, each one JSON object:

    {"op": "fork", "environment": {…}}   with descriptors: the worker's socket, and memory to play episodes → {"pid": …}
    {"op": "kill", "pid": …}                                                                              → {}

An answer may be {"error": …}.

When the other side hangs up, however it ended, every worker is killed and the launcher goes. (A fork of
`multiprocessing` would import the user's main module, and with it torch, into every worker.)
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any

from yardarm.envs.channel import Channel
from yardarm.envs.rendering import use_backend
from yardarm.envs.worker import serve
from yardarm.errors import one_line
from yardarm.own_modules import take_over_modules

__all__ = ["main"]

LONGEST_REQUEST = 65536
REAP_EVERY_S = 1.0


def main() -> None:
    """Import what was asked for, then fork workers until the other side hangs up."""
    faulthandler.enable()  # a crash inside a simulator leaves its stack in the log
    control = socket.socket(fileno=os.dup(0))
    answers = Channel(control)
    setup = answers.receive()
    _die_with_parent(setup["parent"])
    sys.path.extend(entry for entry in setup["path"] if entry not in sys.path)
    take_over_modules(setup["own_modules"])
    try:
        _preload(setup["modules"])
    except Exception as error:
        answers.send({"error": one_line(error)})
        return
    answers.send({"pid": os.getpid()})
    workers: set[int] = set()
    try:
        while (answer := _serve(control, workers)) is not None:
            answers.send(answer)
    finally:
        for pid in workers:
            _kill(pid)
        os._exit(0)  # taking the interpreter apart would keep the main process waiting


def _preload(modules: list[str]) -> None:
    # MuJoCo loads its OpenGL binding when it is imported. A worker inherits no such state: it turns
    # rendering on for itself.
    os.environ["MUJOCO_GL"] = "off"
    for module in modules:
        importlib.import_module(module)
    # What is there now is never garbage; without this the collector would touch, and so copy, all of it in each worker.
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, workers: set[int]) -> dict[str, Any] | None:
    """Serve one request and return its answer; None when the other side has hung up."""
    while not select.select([control], [], [], REAP_EVERY_S)[0]:
        _reap(workers)
    message, descriptors, _, _ = socket.recv_fds(control, LONGEST_REQUEST, 2)
    if not message:
        return None
    _reap(workers)
    request = json.loads(message)
    if request["op"] == "fork":
        try:
            pid = _fork(control, request["environment"], descriptors)
        except OSError as error:
            return {"error": f"cannot fork: {error.strerror}"}
        workers.add(pid)
        return {"pid": pid}
    if request["pid"] in workers:  # not reaped yet, so the number is still this worker's
        _kill(request["pid"])
    return {}


def _kill(worker: int) -> None:
    """End a worker that has not been reaped, and whatever its simulator has started."""
    os.kill(worker, signal.SIGKILL)
    _kill_group(worker)


def _kill_group(worker: int) -> None:
    """End what a worker's simulator has started; its group outlives it."""
    with contextlib.suppress(ProcessLookupError):  # nobody is left in it, or the worker had not come so far
        os.killpg(worker, signal.SIGKILL)


def _fork(control: socket.socket, environment: dict[str, str], descriptors: list[int]) -> int:
    launcher = os.getpid()
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    status = 1
    try:
        os.setpgid(0, 0)
        _die_with_parent(launcher)
        control.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a simulator that prompts reads an end of file
        os.environ.update(environment)
        if backend := environment.get("MUJOCO_GL"):
            use_backend(backend)
        worker_socket, *memory = descriptors
        serve(Channel(socket.socket(fileno=worker_socket)), *memory)
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def _die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies, so that nothing is orphaned even then."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _reap(workers: set[int]) -> None:
    while workers:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _kill_group(pid)
        workers.discard(pid)
