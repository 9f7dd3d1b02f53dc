"""An agent: the process on a node that has its workers, speaks for them, and mostly hosts their policies, too."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from yardarm.cluster.messages import AgentOrder, AgentReady, PolicyCall, WorkerReport
from yardarm.cluster.policy_host import PolicyHost
from yardarm.cluster.relay import Relay
from yardarm.cluster.setup import Setup
from yardarm.envs import ProcessPool
from yardarm.envs.messages import Answered, Failed, Refused
from yardarm.errors import EnvironmentFault, UsageError

__all__ = ["NodeAgent"]

# Ray keeps what an actor prints on its node.
LOG = Path("/dev/stdout")


class NodeAgent:
    """The body of a Ray actor. All that concerns workers happens in one thread, and never outlives it."""

    def __init__(self, setup: Setup) -> None:
        setup.apply()
        self._setup = setup
        self._host = PolicyHost(setup.policies_at_once)
        self._ready: Future[AgentReady | Refused] = Future()
        self._relay: Relay | None = None
        # Launchers die with the thread that started them, so that nothing is orphaned; this one lives as long as we do.
        self._thread: threading.Thread | None = None

    async def differences(self) -> str:
        """What this node has in another version, in words."""
        return await asyncio.to_thread(self._setup.differences)

    async def call_policy(self, call: PolicyCall) -> Answered | Refused | Failed:
        """Call a function with a policy."""
        return await asyncio.wrap_future(self._host.call(call))

    async def open(self, places: int) -> AgentReady | Refused:
        """Import simulators and find a renderer, or say why this node cannot be used."""
        self._thread = threading.Thread(target=self._work, args=(places,), name="workers", daemon=True)
        self._thread.start()
        return await asyncio.wrap_future(self._ready)

    async def obey(self, number: int, orders: Sequence[AgentOrder]) -> None:
        """Take orders, which are numbered: Ray may call us out of turn. Their reports come by `reports`."""
        assert self._relay is not None, "an agent must be open"
        self._relay.take(number, orders)

    async def reports(self) -> list[WorkerReport]:
        """Wait until there is something to report."""
        assert self._relay is not None, "an agent must be open"
        return await asyncio.to_thread(self._relay.reports)

    async def close(self) -> None:
        """End all workers."""
        if self._relay is not None and self._thread is not None:
            self._relay.stop()
            await asyncio.to_thread(self._thread.join)

    def _work(self, places: int) -> None:
        with contextlib.closing(ProcessPool(places, time_limit_s=self._setup.timeout_s, log=LOG)) as pool:
            try:
                ready = self._prepare(pool)
            except BaseException as error:
                self._ready.set_exception(error)
                return
            if isinstance(ready, AgentReady):
                self._relay = Relay(pool, self._host)
            self._ready.set_result(ready)
            if self._relay is not None:
                self._relay.run()

    def _prepare(self, pool: ProcessPool) -> AgentReady | Refused:
        """Find out now what is missing, before the first episode."""
        try:
            if differing := self._setup.differences():
                return Refused(f"it has other versions than the driver: {differing}")
            pool.prepare(self._setup.tasks)
            return AgentReady(pool.choose_renderer(self._setup.tasks) if self._setup.renders else None)
        except (UsageError, EnvironmentFault) as error:
            return Refused(str(error))
