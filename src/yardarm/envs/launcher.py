"""The launcher: a small process that imports a simulator once and forks clean workers from it.

Its standard input is a socket. After a setup it serves requests, each one JSON object:

    {"op": "fork", "environment": {…}}   with descriptors: the worker's socket, and memory to play episodes → {"pid": …}
    {"op": "kill", "pid": …}                                                                              → {}
    {"op": "ended", "pid": …}            of a worker that has hung up; it is killed if it is still there  → {"how": …}

An answer may be {"error": …}.

When the other side hangs up, however it ended, every worker is killed and the launcher goes. (A fork of
`multiprocessing` would import the user's main module, and with it torch, into every worker.)

What a simulator has started ends with its worker, even if it has made itself a daemon:

    main process ── dies ──▶ SIGTERM to the launcher (the socket's end says the same)
      └─ launcher           adopts what a dead worker leaves behind, and kills it
           └─ worker        adopts what its simulator's children leave behind
                └─ a daemon of the simulator's, however it was forked
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
    """Import what was asked for, then fork workers until the other side hangs up."""
    faulthandler.enable()  # a crash inside a simulator leaves its stack in the log
    control = socket.socket(fileno=os.dup(0))
    _read_nothing()
    answers = Channel(control)
    setup = answers.receive()
    die_with_parent(setup["parent"], signal.SIGKILL)  # it cannot be heard while it imports
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
        os._exit(0)  # taking the interpreter apart would keep the main process waiting


def _read_nothing() -> None:
    """A simulator that prompts reads an end of file; one that writes to its standard input disturbs nobody."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)


def _preload(modules: list[str]) -> None:
    # MuJoCo loads its OpenGL binding when it is imported. A worker inherits no such state: it turns
    # rendering on for itself.
    os.environ["MUJOCO_GL"] = "off"
    for module in modules:
        importlib.import_module(module)
    # What is there now is never garbage; without this the collector would touch, and so copy, all of it in each worker.
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, family: Family) -> dict[str, Any] | None:
    """Serve one request and return its answer; None when the other side has hung up."""
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
