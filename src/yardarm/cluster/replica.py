"""A replica: a process of its own that hosts policies, mostly with a GPU, and answers the episodes of any node."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from yardarm.cluster.messages import ActionRequest, PolicyAnswer, PolicyCall
from yardarm.cluster.policy_host import PolicyHost
from yardarm.cluster.setup import Setup
from yardarm.envs.messages import Answered, Failed, Refused
from yardarm.policies import Outcome

__all__ = ["Replica"]


class Replica:
    """The body of a Ray actor. Ray calls it from many threads, which only wait; coroutines cost half as much again."""

    most_calls = 128
    """How many may wait for an answer at once."""

    def __init__(self, setup: Setup) -> None:
        setup.apply()
        self._setup = setup
        self._host = PolicyHost(setup.policies_at_once)

    def where(self) -> str | Refused:
        """The id of the node that this replica lives on, or why it cannot be used."""
        import ray

        if differing := self.differences():
            return Refused(f"{platform.node()} has other versions than the driver: {differing}")
        return ray.get_runtime_context().get_node_id()

    def differences(self) -> str:
        """What its node has in another version, in words."""
        return self._setup.differences()

    def call_policy(self, call: PolicyCall) -> Answered | Refused | Failed:
        """Call a function with a policy."""
        return self._host.call(call).result()

    def infer(self, requests: Sequence[ActionRequest]) -> list[PolicyAnswer]:
        """Answer the requests of one agent, in one batch with those of others."""
        return self._host.infer(requests).result()

    def finish(self, id: str, outcome: Outcome | None) -> None:
        """An episode is over."""
        self._host.finish(id, outcome).result()
