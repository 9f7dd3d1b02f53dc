"""The conversations: openpi's, vla-eval's, and openpi's with a server that knows Yardarm."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import yardarm_serve
from yardarm.errors import ConnectionFault, PolicyFault, UsageError
from yardarm.policies.protocol import Look, Outcome
from yardarm.policies.remote.connection import Address, Connection, Reply, Socket, fault_of_server
from yardarm.tasks import EpisodeSpec
from yardarm_serve.openpi import YARDARM
from yardarm_serve.vla_eval import PROTOCOL_VERSION
from yardarm_serve.wire import pack_openpi, pack_vla_eval

__all__ = ["PROTOCOLS", "OpenpiConnection", "VlaEvalConnection", "YardarmConnection", "dial"]

PROTOCOLS = ("auto", "openpi", "vla-eval")
# A server of openpi's speaks first. One that is silent for this long waits for a hello.
SILENCE_S = 2.0


def dial(address: Address, protocol: str) -> Connection:
    """Connect, and find out what the server speaks if need be."""
    socket = Socket(address, plain=protocol == "vla-eval")
    try:
        if protocol == "vla-eval":
            return VlaEvalConnection(socket, address)
        metadata = socket.receive(SILENCE_S if protocol == "auto" else None)
        if metadata is not None:
            return _openpi(socket, address, metadata)
        # A silent server waits for a hello, or is one of openpi's that is busy: that is asked again, with patience.
        try:
            return VlaEvalConnection(socket, address)
        except (PolicyFault, ConnectionFault):
            socket.close()
            return dial(address, "openpi")
    except BaseException:
        socket.close()
        raise


def _openpi(socket: Socket, address: Address, metadata: Any) -> Connection:
    if not isinstance(metadata, Mapping):
        raise PolicyFault(f"the server at {address.url} speaks no protocol that is known here")
    kind = YardarmConnection if YARDARM in metadata else OpenpiConnection
    return kind(socket, address, metadata)


class OpenpiConnection:
    """An observation in, a chunk of actions out; there are no episodes."""

    def __init__(self, socket: Socket, address: Address, metadata: Mapping[str, Any]) -> None:
        self._socket = socket
        self._url = address.url
        self.declared = metadata

    def begin(self, episode: EpisodeSpec) -> None:
        """There is no such message."""

    def ask(self, looks: Sequence[Look], instruction: str) -> Reply:
        """Send the newest look."""
        self._socket.send(pack_openpi(dict(looks[-1].values)))
        return self._reply()

    def _reply(self) -> Reply:
        message = self._socket.receive()
        if not isinstance(message, Mapping) or "actions" not in message:
            raise PolicyFault(f"the server at {self._url} answered without 'actions': {_shown(message)}")
        return Reply(_as_chunk(message["actions"], self._url), message.get("looks", {}))

    def end(self, outcome: Outcome | None) -> None:
        """There is no such message."""

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class YardarmConnection(OpenpiConnection):
    """The same frames, with everything that a local policy knows: where an episode starts, and each of its looks."""

    _begin: Mapping[str, Any] | None = None

    def begin(self, episode: EpisodeSpec) -> None:
        """Said together with the first look."""
        task, action = episode.task, episode.task.env.action
        begin = yardarm_serve.Episode(
            instruction=task.instruction,
            seed=episode.seed,
            index=episode.index,
            benchmark=task.benchmark,
            environment=task.env.options_hash,
            task=task.name,
            action_size=action.size,
            action_low=action.low,
            action_high=action.high,
        )
        self._begin = dataclasses.asdict(begin)

    def ask(self, looks: Sequence[Look], instruction: str) -> Reply:
        """Send every look since the last answer."""
        message: dict[str, Any] = {"looks": [[look.step, dict(look.values)] for look in looks]}
        if self._begin is not None:
            message["begin"] = self._begin
        self._socket.send(pack_openpi({YARDARM: message}))
        self._begin = None
        return self._reply()


class VlaEvalConnection:
    """Episodes with a beginning and an end; an observation in, one action out."""

    def __init__(self, socket: Socket, address: Address) -> None:
        self._socket = socket
        self._url = address.url
        self._seq = 0
        hello = {"harness_version": yardarm_serve.__version__, "protocol_version": PROTOCOL_VERSION}
        self.declared: Mapping[str, Any] = self._exchange("hello", hello, "hello")
        version = self.declared.get("protocol_version")
        if version != PROTOCOL_VERSION:
            raise UsageError(f"the server at {self._url} speaks version {version} of vla-eval's protocol, not 1")

    def begin(self, episode: EpisodeSpec) -> None:
        """Tell the server, which answers only if it fails."""
        task = episode.task
        names = {"name": task.instruction, "suite": task.group, "task_id": task.index, "episode_idx": episode.index}
        self._send("episode_start", {"task": names})

    def ask(self, looks: Sequence[Look], instruction: str) -> Reply:
        """Send the newest look."""
        payload = self._exchange("observation", dict(looks[-1].values), "action")
        if "actions" not in payload:
            raise PolicyFault(f"the server at {self._url} answered without 'actions': {_shown(payload)}")
        return Reply(_as_chunk(payload["actions"], self._url))

    def end(self, outcome: Outcome | None) -> None:
        """Tell the server."""
        if outcome is None:
            outcome = Outcome(success=False, steps=0, seconds=0.0)
        metrics = {"metrics": {"success": outcome.success}, "steps": outcome.steps, "elapsed_sec": outcome.seconds}
        self._send("episode_end", metrics)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _send(self, kind: str, payload: Mapping[str, Any]) -> int:
        self._seq += 1
        message = {"type": kind, "payload": payload, "seq": self._seq, "timestamp": time.time()}
        self._socket.send(pack_vla_eval(message))
        return self._seq

    def _exchange(self, kind: str, payload: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
        seq = self._send(kind, payload)
        message = self._socket.receive()
        if not isinstance(message, Mapping) or not {"type", "payload"} <= message.keys():
            raise PolicyFault(f"the server at {self._url} does not speak vla-eval's protocol: {_shown(message)}")
        if message["type"] == "error":  # also that of an episode's start, which has no answer of its own
            raise fault_of_server(self._url, str(message["payload"].get("error", "")))
        if message["type"] != wanted or message.get("seq") != seq:
            raise PolicyFault(
                f"the server at {self._url} answered {kind} {seq} with {message['type']} {message.get('seq')}"
            )
        return message["payload"]


def _as_chunk(actions: Any, url: str) -> np.ndarray:
    chunk = np.asarray(actions, dtype=np.float32)
    if chunk.ndim == 1:
        chunk = chunk[None]
    if chunk.ndim != 2 or not chunk.size:
        raise PolicyFault(f"the server at {url} answered with actions of shape {chunk.shape}, not (how many, size)")
    return chunk


def _shown(message: Any) -> str:
    return f"a map of {', '.join(map(str, message))}" if isinstance(message, Mapping) else type(message).__name__
