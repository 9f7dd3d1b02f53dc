"""One client's episodes, in either protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from yardarm_serve.backend import Answer, Backend, BackendError, Episode, Look, Request
from yardarm_serve.batching import Batcher
from yardarm_serve.names import Misfit, Reader
from yardarm_serve.wire import Malformed, unpack

__all__ = ["Host", "Session"]

log = logging.getLogger(__name__)

# In bytes. A thread costs 0.1 ms, more than unpacking a small state; at worst, this many bytes take 2 ms.
UNPACKED_AT_ONCE = 1024


@dataclass(frozen=True)
class Host:
    """What all sessions of a server share."""

    backend: Backend
    batcher: Batcher
    reader: Reader
    places: asyncio.Semaphore | None
    """For a policy that can serve only a limited number of episodes at once."""


class Session:
    """A connection's current episode, if there is one."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.episode: Episode | None = None
        self._state: Any = None
        self._failed: Exception | None = None
        self._has_place = False

    async def begin(self, episode: Episode) -> None:
        """Start an episode, and end the previous one."""
        self.end()
        if self.host.places is not None:
            await self.host.places.acquire()
            self._has_place = True
        try:
            self._state = await self.host.batcher.call(self.host.backend.start, episode)
        except BaseException as error:
            self.end()
            self._failed = error if isinstance(error, Exception) else None
            raise
        self.episode = episode

    async def ask(self, looks: Sequence[Look], instruction: str | None = None) -> Answer:
        """The policy's answer to the looks; starts an episode if there is none."""
        if self._failed is not None:  # the episode could not be started
            raise self._failed
        if self.episode is None:
            await self.begin(Episode(instruction or ""))
        assert self.episode is not None
        if instruction is not None and instruction != self.episode.instruction:
            self.episode = replace(self.episode, instruction=instruction)
        request = Request(self.episode, self._state, looks)
        answer = await self.host.batcher.ask(request)
        self._state = request.state
        return answer

    async def unpack(self, frame: bytes | str) -> Any:
        """Unpack a message, in a thread if it is large, so that no other client waits for it."""
        if len(frame) <= UNPACKED_AT_ONCE:
            return unpack(frame)
        return await asyncio.to_thread(unpack, frame)

    def note_error(self, error: Exception) -> None:
        """Count an error that is sent to a client, and log it on the server."""
        self.host.batcher.served.errors += 1
        mistake = isinstance(error, (Malformed, Misfit, BackendError))
        log.warning("sent to a client: %s: %s", type(error).__name__, error, exc_info=None if mistake else error)

    def end(self) -> None:
        """End the episode, and free its place."""
        self.episode = self._state = self._failed = None
        if self._has_place and self.host.places is not None:
            self.host.places.release()
            self._has_place = False
