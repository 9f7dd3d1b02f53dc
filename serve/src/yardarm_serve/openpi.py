"""The server side of openpi's protocol: metadata first, then an observation in, a chunk of actions out.

It has no episodes: each connection counts as one. Yardarm's own clients add data to the same frames, under the key
``yardarm``: where an episode begins, and every look that the policy asked for. So they get exactly what the policy
would answer locally.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from typing import Any

from websockets.asyncio.server import ServerConnection

from yardarm_serve.backend import Answer, BackendError, Episode, Look
from yardarm_serve.names import Misfit
from yardarm_serve.session import Session
from yardarm_serve.wire import Malformed, pack_openpi

__all__ = ["RESET", "YARDARM", "serve_openpi"]

YARDARM = "yardarm"
# A key of an observation which says that a new episode begins.
RESET = "yardarm/reset"
MOST_ACTION_SIZE = 10_000
# The protocol's code for an error in the server.
INTERNAL_ERROR = 1011


async def serve_openpi(socket: ServerConnection, session: Session, metadata: Mapping[str, Any]) -> None:
    """Answer until the client leaves; an error is sent as a text frame, and closes the connection."""
    await socket.send(pack_openpi(metadata))
    total_ms: float | None = None
    async for frame in socket:
        started = time.perf_counter()
        try:
            answer = await _answer(session, await session.unpack(frame))
        except Exception as error:
            session.note_error(error)
            await socket.send(_explained(error))
            await socket.close(INTERNAL_ERROR, "see the previous text frame")
            return
        timing = {"infer_ms": (time.perf_counter() - started) * 1000}
        if total_ms is not None:
            timing["prev_total_ms"] = total_ms
        looks = {name: list(offsets) for name, offsets in answer.looks.items()}
        more = {"looks": looks} if looks else {}
        await socket.send(pack_openpi({"actions": answer.actions, "server_timing": timing, **more}))
        total_ms = (time.perf_counter() - started) * 1000


async def _answer(session: Session, observation: Any) -> Answer:
    if not isinstance(observation, Mapping):
        raise Malformed(f"an observation must be a map, not {type(observation).__name__}")
    if YARDARM in observation:
        return await _answer_yardarm(session, observation[YARDARM])
    reset = observation.get(RESET, False)
    seen = session.host.reader.read({name: value for name, value in observation.items() if name != RESET})
    if reset or session.episode is None:
        await session.begin(Episode(seen.instruction or ""))
    return await session.ask([Look(0, values) for values in seen.looks], seen.instruction)


async def _answer_yardarm(session: Session, message: Any) -> Answer:
    """Answer a Yardarm client, whose names are already the policy's."""
    try:
        begin, looks = message.get("begin"), [Look(int(step), values) for step, values in message["looks"]]
        episode = None if begin is None else Episode(**begin)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Malformed(f"not a valid look of a Yardarm client: {type(error).__name__}: {error}") from error
    if episode is not None and not _is_size(episode.action_size):
        raise Malformed(f"action_size must be between 1 and {MOST_ACTION_SIZE}, got {episode.action_size!r}")
    session.host.reader.check_looks(looks, first=episode is not None)
    if episode is not None:
        await session.begin(episode)
    elif session.episode is None:
        raise Misfit("no episode has begun on this connection")
    return await session.ask(looks)


def _is_size(value: Any) -> bool:
    """Whether a policy can allocate actions of this size."""
    return value is None or (isinstance(value, int) and 0 < value <= MOST_ACTION_SIZE)


def _explained(error: Exception) -> str:
    """One line for a client's mistake; for the policy's, a traceback, as openpi's own server sends it."""
    if isinstance(error, Malformed | Misfit | BackendError):
        return str(error)
    return "".join(traceback.format_exception(error))
