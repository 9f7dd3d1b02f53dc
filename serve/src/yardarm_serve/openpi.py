"""openpi's protocol, server side: metadata first, then an observation in, a chunk of actions out.

It has no episodes: a connection is one. Yardarm's own clients put more into the same frames, under the key ``yardarm``:
where an episode begins, and every look that the policy asked for. So they get what the policy would do at home.
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
# A key of an observation that says: a new episode begins with this one.
RESET = "yardarm/reset"
MOST_ACTION_SIZE = 10_000
# The protocol's code for an error of the server's.
INTERNAL_ERROR = 1011


async def serve_openpi(socket: ServerConnection, session: Session, metadata: Mapping[str, Any]) -> None:
    """Answer until the client leaves; an error is told in a text frame, and ends the connection."""
    await socket.send(pack_openpi(metadata))
    total_ms: float | None = None
    async for frame in socket:
        started = time.perf_counter()
        try:
            answer = await _answer(session, await session.unpack(frame))
        except Exception as error:
            session.note_error(error)
            await socket.send(_explained(error))
            await socket.close(INTERNAL_ERROR, "see the text frame before")
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
        raise Malformed(f"an observation is a map, not {type(observation).__name__}")
    if YARDARM in observation:
        return await _answer_yardarm(session, observation[YARDARM])
    reset = observation.get(RESET, False)
    seen = session.host.reader.read({name: value for name, value in observation.items() if name != RESET})
    if reset or session.episode is None:
        await session.begin(Episode(seen.instruction or ""))
    return await session.ask([Look(0, values) for values in seen.looks], seen.instruction)


async def _answer_yardarm(session: Session, message: Any) -> Answer:
    """A look of Yardarm's: the names are the policy's already."""
    try:
        begin, looks = message.get("begin"), [Look(int(step), values) for step, values in message["looks"]]
        episode = None if begin is None else Episode(**begin)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Malformed(f"not a look of Yardarm's: {type(error).__name__}: {error}") from error
    if episode is not None and not _is_size(episode.action_size):
        raise Malformed(f"an action of {episode.action_size!r} numbers")
    session.host.reader.check_looks(looks, first=episode is not None)
    if episode is not None:
        await session.begin(episode)
    elif session.episode is None:
        raise Misfit("no episode has begun on this connection")
    return await session.ask(looks)


def _is_size(value: Any) -> bool:
    """Policies make arrays of this size."""
    return value is None or (isinstance(value, int) and 0 < value <= MOST_ACTION_SIZE)


def _explained(error: Exception) -> str:
    """One line for a client's mistake; the traceback, as openpi's own server sends it, for the policy's."""
    if isinstance(error, Malformed | Misfit | BackendError):
        return str(error)
    return "".join(traceback.format_exception(error))
