"""Connections to one server: kept while they work, made again with growing pauses while the server is away."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from yardarm.errors import ConnectionFault, PolicyFault
from yardarm.policies.protocol import Outcome
from yardarm.policies.remote.connection import Connection

__all__ = ["ConnectionPool", "EpisodeConnection"]

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
log = logging.getLogger(__name__)


class EpisodeConnection:
    """What an episode has of its server: the connection that it holds from its first look to its end."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.outcome: Outcome | None = None
        self.over = False
        self.lock = threading.Lock()
        """Held while an answer is awaited."""


class ConnectionPool:
    """Gives out connections, and takes them back."""

    def __init__(self, dial: Callable[[], Connection], patience_s: float) -> None:
        self._dial = dial
        self._patience_s = patience_s
        self._free: list[Connection] = []
        self._used: list[Connection] = []
        self._lock = threading.Lock()
        self._away = False
        self._closed = threading.Event()

    def put(self, connection: Connection) -> None:
        """Keep a connection for the next episode."""
        with self._lock:
            self._used = [other for other in self._used if other is not connection]
            self._free.append(connection)

    def take(self) -> Connection:
        """An idle connection: an old one, or a new one as soon as the server can be reached."""
        with self._lock:
            if self._free:
                self._used.append(self._free.pop())
                return self._used[-1]
        connection = self._new()
        with self._lock:
            self._used.append(connection)
        if self._closed.is_set():  # meanwhile
            self.close()
            raise ConnectionFault("the run is over")
        return connection

    def _new(self) -> Connection:
        given_up = time.monotonic() + self._patience_s
        pause = FIRST_PAUSE_S
        while True:
            if self._closed.is_set():
                raise ConnectionFault("the run is over")
            try:
                connection = self._dial()
            except ConnectionFault as fault:
                self._say_that_it_is_away(fault)
                if time.monotonic() + pause > given_up:
                    raise PolicyFault(
                        f"{fault}, for {self._patience_s:g} s now; finished episodes are kept: start the server, and "
                        "the same command with the same --output_dir resumes the run"
                    ) from fault
                self._closed.wait(pause * random.uniform(0.5, 1.0))  # not all at the same moment
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                self._away = False
                return connection

    def drop(self, link: EpisodeConnection) -> None:
        """Close a connection that failed, and the idle ones: their server may no longer exist.

        The caller holds the link's lock.
        """
        with self._lock:
            lost, self._free = [*self._free, link.connection], []
            self._used = [other for other in self._used if other is not link.connection]
        link.connection = None
        for connection in lost:
            if connection is not None:
                connection.close()

    def settle(self, link: EpisodeConnection) -> None:
        """Take an episode's connection back if the episode is over, and no answer is awaited on it.

        Whoever waits for an answer settles it afterwards. Both look again after they let go of the lock, so that none
        relies on the other while the other relies on it.
        """
        while link.over and link.connection is not None and link.lock.acquire(blocking=False):
            try:
                self._end(link)
            finally:
                link.lock.release()

    def _end(self, link: EpisodeConnection) -> None:
        connection = link.connection
        if connection is None:
            return
        try:
            connection.end(link.outcome)
        except ConnectionFault:  # the episode is over: there is nothing to lose
            self.drop(link)
        else:
            link.connection = None
            self.put(connection)

    def open(self) -> None:
        """Begin, perhaps once more."""
        self._closed.clear()

    def close(self) -> None:
        """Close everything: calls that still wait for an answer end."""
        self._closed.set()
        with self._lock:
            all_of_them, self._free, self._used = [*self._free, *self._used], [], []
        for connection in all_of_them:
            connection.close()

    def _say_that_it_is_away(self, fault: ConnectionFault) -> None:
        with self._lock:
            known, self._away = self._away, True
        if not known:
            log.warning("yardarm: %s; trying again for up to %g s", fault, self._patience_s)
