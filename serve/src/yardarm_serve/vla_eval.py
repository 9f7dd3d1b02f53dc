"""The server side of vla-eval's protocol: episodes with a start and an end, and one action per observation.

The server keeps the chunk: the policy is asked once its last actions were played, and gets the looks that it wants.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from yardarm_serve.backend import Answer, Contract, Episode, Look
from yardarm_serve.session import Session
from yardarm_serve.wire import Malformed, pack_vla_eval

__all__ = ["PROTOCOL_VERSION", "hello_of", "serve_vla_eval"]

PROTOCOL_VERSION = 1


class Stepper:
    """Returns a chunk one action at a time, and collects the looks that the policy wants."""

    def __init__(self) -> None:
        self._actions: deque[np.ndarray] = deque()
        self._offsets: Mapping[str, Any] = {}
        self._played = self._step = 0
        self._looks: list[Look] = []

    def see(self, values: Mapping[str, np.ndarray], steps: int) -> None:
        """Keep a look if it is the first, the last of the chunk, or one that the policy wants."""
        wanted = {
            name: value
            for name, value in values.items()
            if self._played in self._offsets.get(name, ()) or (not self._actions and not self._offsets)
        }
        if wanted:
            self._looks = [*self._looks, Look(self._step, wanted)][-steps:]

    @property
    def needs_answer(self) -> bool:
        return not self._actions

    def take_looks(self) -> list[Look]:
        """Return the looks that the policy has not seen yet, and forget them."""
        looks, self._looks = self._looks, []
        return looks

    def fill(self, answer: Answer) -> None:
        """Store a new chunk."""
        self._actions.extend(answer.actions)
        self._offsets, self._played = answer.looks, 0

    def next_action(self) -> np.ndarray:
        """The next action to play."""
        self._played += 1
        self._step += 1
        return self._actions.popleft()


async def serve_vla_eval(
    socket: ServerConnection, session: Session, metadata: Mapping[str, Any], first: bytes | str
) -> None:
    """Answer until the client leaves; errors are sent to the client, and the connection stays open."""
    if not await _is_hello(session, first):
        await socket.close(1002, "the first frame must be vla-eval's hello; openpi clients must wait for the metadata")
        return
    stepper = Stepper()
    frame: bytes | str = first
    while True:
        seq = 0
        try:
            kind, payload, seq = _parts(await session.unpack(frame))
            if kind == "hello":
                await _send(socket, "hello", dict(metadata), seq)
            elif kind == "episode_start":
                stepper = Stepper()
                await session.begin(_episode(payload))
            elif kind == "observation":
                action = await _act(session, stepper, payload)
                await _send(socket, "action", {"actions": action}, seq)
            elif kind == "episode_end":
                stepper = Stepper()
                session.end()
            elif kind != "error":
                raise Malformed(f"unknown message type '{kind}'")
        except Exception as error:
            stepper = Stepper()  # discards the chunk: the policy has failed
            if isinstance(error, ConnectionClosed):
                raise
            session.note_error(error)
            await _send(socket, "error", {"error": f"{type(error).__name__}: {error}"}, seq)
        frame = await socket.recv()


def hello_of(contract: Contract, version: str) -> dict[str, Any]:
    """The server's hello, which describes the policy."""
    cameras = {name.rpartition(".")[2]: _spec("image", 0, "rgb_hwc_uint8") for name in contract.images}
    states = {name: shape for name, shape in contract.inputs.items() if name not in contract.images}
    state = {"state": _spec("state", sum(int(np.prod(shape or (0,))) for shape in states.values()), "raw")}
    params = {"send_state": bool(states), "send_wrist_image": len(contract.images) > 1}
    return {
        "harness_version": version,
        "protocol_version": PROTOCOL_VERSION,
        "model_server": contract.id,
        "capabilities": {},
        "observation_params": {name: True for name, wanted in params.items() if wanted},
        "action_spec": {"actions": _spec("raw", contract.action_size or 0, "raw")},
        "observation_spec": {**cameras, **(state if states else {}), "language": _spec("language", 0, "language")},
        "yardarm": contract.to_json(),
    }


async def _is_hello(session: Session, frame: bytes | str) -> bool:
    try:
        return _parts(await session.unpack(frame))[0] == "hello"
    except Malformed:
        return False


async def _act(session: Session, stepper: Stepper, payload: Mapping[str, Any]) -> np.ndarray:
    seen = session.host.reader.read(payload)
    stepper.see(seen.looks[-1], session.host.backend.contract.steps)
    if stepper.needs_answer:
        stepper.fill(await session.ask(stepper.take_looks(), seen.instruction))
    return stepper.next_action()


def _episode(payload: Mapping[str, Any]) -> Episode:
    task = payload.get("task")
    task = task if isinstance(task, Mapping) else {}
    index = task.get("episode_idx", 0)
    return Episode(
        instruction=str(task.get("name", "")),
        index=index if isinstance(index, int) else 0,
        seed=index if isinstance(index, int) else 0,
        task=str(task.get("name", "")),
        benchmark=str(task.get("suite", "")),
    )


def _parts(message: Any) -> tuple[str, Mapping[str, Any], int]:
    if not isinstance(message, Mapping) or not {"type", "payload", "seq"} <= message.keys():
        raise Malformed("a message must be a map with type, payload, seq and timestamp")
    kind, payload, seq = message["type"], message["payload"], message["seq"]
    if not isinstance(payload, Mapping) or not isinstance(seq, int):
        raise Malformed("a message's payload must be a map, and its seq a whole number")
    return str(kind), payload, seq


def _spec(name: str, dims: int, form: str) -> dict[str, Any]:
    return {"name": name, "dims": dims, "format": form}


async def _send(socket: ServerConnection, kind: str, payload: Mapping[str, Any], seq: int) -> None:
    message = {"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}
    await socket.send(pack_vla_eval(message))
