"""The launcher: a small process that imports a simulator once and forks clean workers from it.

Its standard input is a socket. After the setup message it serves requests, each a JSON object:

    {"op": "fork", "environment": {…}}   with descriptors: the worker's socket, and memory for episodes   → {"pid": …}
    {"op": "kill", "pid": …}                                                                              → {}
    {"op": "ended", "pid": …}            for a worker that closed its socket; killed if it still runs     → {"how": …}

An answer may be {"error": …}. `launching.py` is the other side, and shows who waits for whom.

When the main process closes the socket, or dies, the launcher kills all workers and exits. (A fork by
`multiprocessing` would import the user's main module, and with it torch, into every worker.)

Processes that a simulator started end with its worker, even daemons:

    main process ── dies ──▶ SIGTERM to the launcher (its socket closes too)
      └─ launcher           adopts the processes that a dead worker leaves behind, and kills them
           └─ worker        adopts the processes that its simulator's children leave behind
                └─ a daemon of the simulator, however it was forked
"""

from __future__ import annotations

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
from yardarm.envs.families import Family, adopt_orphans, die_with_parent
from yardarm.envs.rendering import use_backend
from yardarm.envs.worker import serve
from yardarm.errors import one_line
from yardarm.own_modules import take_over_modules

__all__ = ["main"]

LONGEST_REQUEST = 65536
REAP_EVERY_S = 1.0


def main() -> None:
    """Import the requested modules, then fork workers until the main process closes the socket."""
    faulthandler.enable()  # a crash inside a simulator leaves its stack in the log
    control = socket.socket(fileno=os.dup(0))
    _read_nothing()
    answers = Channel(control)
    setup = answers.receive()
    die_with_parent(setup["parent"], signal.SIGKILL)  # while it imports, it does not read the socket
    sys.path.extend(entry for entry in setup["path"] if entry not in sys.path)
    take_over_modules(setup["own_modules"])
    try:
        _preload(setup["modules"])
    except Exception as error:
        answers.send({"error": one_line(error)})
        return
    adopt_orphans()
    family = Family()
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit())
    try:
        die_with_parent(setup["parent"], signal.SIGTERM)
        answers.send({"pid": os.getpid()})
        while (answer := _serve(control, family)) is not None:
            answers.send(answer)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        family.end()
        os._exit(0)  # a regular shutdown of the interpreter would keep the main process waiting


def _read_nothing() -> None:
    """Replace standard input: a simulator that prompts reads an end of file, and cannot reach the socket."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)


def _preload(modules: list[str]) -> None:
    # MuJoCo loads its OpenGL binding when it is imported. A worker must not inherit that: it turns rendering on itself.
    os.environ["MUJOCO_GL"] = "off"
    for module in modules:
        importlib.import_module(module)
    # These objects never become garbage; otherwise the collector would touch, and so copy, all of them in each worker.
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, family: Family) -> dict[str, Any] | None:
    """Serve one request and return its answer; None when the main process has closed the socket."""
    while not select.select([control], [], [], REAP_EVERY_S)[0]:
        family.reap()
    message, descriptors, _, _ = socket.recv_fds(control, LONGEST_REQUEST, 2)
    if not message:
        return None
    family.reap()
    request = json.loads(message)
    match request["op"]:
        case "fork":
            try:
                pid = _fork(control, request["environment"], descriptors)
            except OSError as error:
                return {"error": f"cannot fork: {error.strerror}"}
            family.add(pid)
            return {"pid": pid}
        case "ended":
            return {"how": family.how_ended(request["pid"])}
    family.kill(request["pid"])
    return {}


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
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent(launcher, signal.SIGKILL)
        adopt_orphans()
        control.close()
        os.environ.update(environment)
        if backend := environment.get("MUJOCO_GL"):
            use_backend(backend)
        worker_socket, *memory = descriptors
        serve(Channel(socket.socket(fileno=worker_socket)), *memory)
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)
