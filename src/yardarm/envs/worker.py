"""A worker: one process, one task, one simulator. It needs only numpy and the standard library."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable

import numpy as np

from yardarm.envs.channel import Channel
from yardarm.envs.episode_player import EpisodePlayer
from yardarm.envs.messages import (
    Alive,
    Answered,
    Ask,
    Begin,
    Enter,
    Failed,
    Filmed,
    Finish,
    Finished,
    Order,
    Play,
    PolicyFailed,
    Refused,
    Report,
    Run,
    Seen,
)
from yardarm.envs.shared_memory import SharedMemory
from yardarm.errors import EnvironmentFault, PolicyFault, UsageError
from yardarm.policies import Look, Policy, PolicySpec, make_policy
from yardarm.registry import import_object

__all__ = ["WorkerCore", "serve"]


class WorkerCore:
    """Carries out orders, whether they arrive by socket or by a call in the main process."""

    def __init__(self, send: Callable[[Report], None], take_frame: Callable[[np.ndarray], None]) -> None:
        self._send = send
        self._take_frame = take_frame
        self._policies: dict[str, Policy] = {}
        self._spoken = time.monotonic()

    def enter(self, order: Enter, memory: SharedMemory) -> None:
        """Set this worker's task; the simulator is built later."""
        self._task = order.task
        self._heartbeat_s = order.heartbeat_s
        self._memory = memory
        self._player = EpisodePlayer(order.task, self._take_frame)

    def obey(self, order: Order) -> None:
        """Carry out one order and report; exceptions are reported too."""
        try:
            self._send(self._report(order))
        except PolicyFault as fault:
            self._send(PolicyFailed(str(fault), fault.trace))
        except (Exception, SystemExit):
            self._send(Failed(traceback.format_exc()))

    def close(self) -> None:
        """Close the simulator."""
        self._player.close()

    def _report(self, order: Order) -> Report:
        match order:
            case Play():
                looks = self._player.play(order.chunk(self._task))
                return Finished(self._player.rollout()) if self._player.done else self._show(looks)
            case Begin(episode, wanted, film):
                self._player.begin(episode, film)
                return self._show([self._player.look(wanted)])
            case Run(episode, policy, film):
                self._player.begin(episode, film)
                self._player.run(episode, self._policy(policy), self._heartbeat)
                return Finished(self._player.rollout())
            case Finish():
                return Finished(self._player.rollout())
        raise AssertionError(f"a worker does not understand {order!r}")

    def _show(self, looks: list[Look]) -> Seen:
        assert len(looks) <= len(self._memory.looks), "more looks than there is room for"
        for slot, look in zip(self._memory.looks, looks, strict=False):
            for name, value in look.values.items():
                self._put(name, value, slot[name])
        return Seen(tuple((look.step, tuple(look.values)) for look in looks))

    def _put(self, name: str, value: np.ndarray, place: np.ndarray) -> None:
        if value.shape != place.shape or value.dtype != place.dtype:
            raise EnvironmentFault(
                f"the simulator of '{self._task.name}' returns '{name}' as {value.dtype}{value.shape}, "
                f"but its features declare {place.dtype}{place.shape}"
            )
        place[...] = value

    def _policy(self, spec: PolicySpec) -> Policy:
        key = repr(spec)
        if key not in self._policies:
            try:
                self._policies[key] = make_policy(spec)
            except UsageError as error:
                raise PolicyFault(str(error)) from error
        return self._policies[key]

    def _heartbeat(self, steps: int) -> None:
        now = time.monotonic()
        if now - self._spoken > self._heartbeat_s:
            self._spoken = now
            self._send(Alive(steps))


def answer(question: Ask) -> Report:
    """Call the function, and report the result."""
    try:
        return Answered(import_object(question.function)(**question.arguments))
    except UsageError as error:
        return Refused(str(error))
    except (Exception, SystemExit):
        return Failed(traceback.format_exc())


def serve(channel: Channel, memory_descriptor: int = -1) -> None:
    """Answer one question, or carry out orders until the main process closes the socket.

    The worker waits in two places: for its next order, and, after `Filmed`, until the frame was read (`Proceed`).
    """
    enter = channel.receive()
    if isinstance(enter, Ask):
        channel.send(answer(enter))
        return
    memory = SharedMemory(enter.layout, memory_descriptor)

    def take_frame(frame: np.ndarray) -> None:
        memory.frame[...] = frame
        channel.send(Filmed())
        channel.receive()  # Proceed: the frame has been read

    core = WorkerCore(channel.send, take_frame)
    core.enter(enter, memory)
    try:
        while True:
            core.obey(channel.receive())
    except (EOFError, ConnectionError):
        # No clean-up: the process ends anyway, and some OpenGL drivers complain at a regular exit.
        os._exit(0)
