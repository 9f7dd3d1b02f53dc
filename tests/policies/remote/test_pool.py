"""Connections under stress: closing, waiting, and two threads that let go at the same time."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from yardarm.errors import ConnectionFault, PolicyFault
from yardarm.policies import Outcome
from yardarm.policies.remote.pool import ConnectionPool, EpisodeConnection

DONE = Outcome(True, 3, 1.0)


class FakeConnection:
    """Notes what is done to it."""

    def __init__(self) -> None:
        self.ended: list[Any] = []
        self.closed = False

    def end(self, outcome: Any) -> None:
        if self.closed:
            raise ConnectionFault("closed")
        self.ended.append(outcome)

    def close(self) -> None:
        self.closed = True


def pool_of(
    made: list[FakeConnection], fail: threading.Event | None = None, patience_s: float = 60.0
) -> ConnectionPool:
    def dial() -> Any:
        if fail is not None and fail.is_set():
            raise ConnectionFault("nobody there")
        made.append(FakeConnection())
        return made[-1]

    return ConnectionPool(dial, patience_s)


def test_a_connection_is_used_again_after_its_episode() -> None:
    made: list[FakeConnection] = []
    pool = pool_of(made)
    for _ in range(3):
        link = EpisodeConnection()
        link.connection = pool.take()
        link.over, link.outcome = True, DONE
        pool.settle(link)
    assert len(made) == 1
    assert made[0].ended == [DONE] * 3


def test_who_waits_for_a_server_stops_waiting_when_the_run_is_over() -> None:
    away = threading.Event()
    away.set()
    pool = pool_of([], away)
    faults: list[BaseException] = []

    def wait() -> None:
        try:
            pool.take()
        except ConnectionFault as fault:
            faults.append(fault)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.3)
    started = time.perf_counter()
    pool.close()
    waiting.join(5)
    assert faults
    assert time.perf_counter() - started < 2


def test_nothing_is_dialled_after_the_end() -> None:
    made: list[FakeConnection] = []
    pool = pool_of(made)
    pool.close()
    with pytest.raises(ConnectionFault, match="the run is over"):
        pool.take()
    assert not made
    pool.open()
    assert pool.take() is not None


def test_all_connections_are_hung_up_at_the_end_those_in_use_too() -> None:
    made: list[FakeConnection] = []
    pool = pool_of(made)
    pool.take()
    pool.put(pool.take())
    pool.close()
    assert [connection.closed for connection in made] == [True, True]


def test_patience_ends() -> None:
    away = threading.Event()
    away.set()
    with pytest.raises(PolicyFault, match=r"nobody there, for 0\.3 s now; finished episodes are kept"):
        pool_of([], away, patience_s=0.3).take()


def test_a_lane_and_the_scheduler_that_let_go_at_the_same_time_lose_no_connection() -> None:
    made: list[FakeConnection] = []
    pool = pool_of(made)
    for _ in range(300):
        link = EpisodeConnection()
        link.connection = pool.take()
        holding = threading.Event()

        def lane(link: EpisodeConnection = link, holding: threading.Event = holding) -> None:
            with link.lock:
                holding.set()
            pool.settle(link)

        thread = threading.Thread(target=lane)
        thread.start()
        holding.wait()
        link.over, link.outcome = True, None
        pool.settle(link)
        thread.join()
        assert link.connection is None
    assert len(made) == 1
