"""Starts processes for baselines: several at once, or a single one whose memory is watched."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

from usage import PeakMemory, Sampler

from yardarm.envs.launching import SINGLE_THREADED
from yardarm.envs.rendering import backends

CONTEXT = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def worker_environment() -> Iterator[None]:
    """Start baselines with the environment of the engine's workers: one thread each, and the same OpenGL."""
    settings = {**SINGLE_THREADED, "MUJOCO_GL": backends()[0]}
    earlier = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def in_processes(work: Callable[..., Any], arguments: Sequence[tuple]) -> list[Any]:
    """Call `work(barrier, *arguments)` in one process per item of `arguments`, all at the same time."""
    barrier = CONTEXT.Barrier(len(arguments))
    children = []
    with worker_environment():
        for own in arguments:
            ours, theirs = CONTEXT.Pipe(duplex=False)
            process = CONTEXT.Process(target=_send_result, args=(theirs, work, (barrier, *own)), daemon=True)
            process.start()
            theirs.close()
            children.append((process, ours))
    results = [ours.recv() for _, ours in children]
    for process, _ in children:
        process.join()
    return results


def _send_result(pipe: Connection, work: Callable[..., Any], arguments: tuple) -> None:
    pipe.send(work(*arguments))


def in_fresh_process(work: Callable[..., Any], *arguments: Any, every_s: float = 0.05) -> tuple[Any, PeakMemory]:
    """Call `work` in a new interpreter, and watch the memory of it and its descendants from here."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_send_result, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    peak = PeakMemory(process.pid)
    with Sampler(peak.sample, every_s):
        result = ours.recv()
    process.join()
    return result, peak
