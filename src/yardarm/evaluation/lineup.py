"""The policies of a list: loaded and checked one after the other, and held as far as memory allows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.policy_names import distinct_names
from yardarm.evaluation.preflight import check_policy_fits, naming
from yardarm.evaluation.runners import open_policy_for
from yardarm.policies import LoadedPolicy, Policy, Releasable
from yardarm.tasks import TaskSpec

__all__ = ["Lineup", "open_lineup"]

# How many policies a worker plays with one simulator: more would save little, and delay the first ones.
MOST_AT_ONCE = 8
# The share of free memory for weights; simulators and inference need the rest.
SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Lineup:
    """Policies that play in one evaluation, each once, by names that tell them apart."""

    policies: Mapping[str, LoadedPolicy]
    plans: Mapping[str, Plan]
    """What each of them plays."""
    at_once: int
    notes: tuple[str, ...]


@contextlib.contextmanager
def open_lineup(config: EvalConfig, tasks: tuple[TaskSpec, ...], listener: EvaluationListener) -> Iterator[Lineup]:
    """Load every policy once, so that problems with any of them are known before the first episode.

    Weights beyond what memory allows are released, and loaded again when it is their policy's turn. A shard loads only
    what it plays.
    """
    plans = _plans(config, tasks)
    sources = dict(zip(plans, config.policies, strict=True))
    playing = [name for name, plan in plans.items() if plan.shard is None or plan.episodes()]
    found: dict[str, tuple[str, LoadedPolicy]] = {}
    notes: list[str] = []
    memory = _Memory(config.eval.policies_at_once)
    with contextlib.ExitStack() as stack:
        for number, name in enumerate(playing, start=1):
            listener.preparing(f"loading policy {number} of {len(playing)}: {name}")
            with contextlib.ExitStack() as own:
                with naming(name):
                    policy = own.enter_context(open_policy_for(config, sources[name], tasks, config.rename_map))
                    check_policy_fits(policy.policy, policy.traits, tasks)
                if policy.id in found:
                    notes.append(f"{name} is the same policy as {found[policy.id][0]}, and is evaluated once")
                    continue
                found[policy.id] = name, policy
                memory.admit(policy.policy)
                stack.push(own.pop_all())
        yield Lineup(dict(found.values()), plans, min(memory.at_once(), len(found)), tuple(notes))


def _plans(config: EvalConfig, tasks: tuple[TaskSpec, ...]) -> dict[str, Plan]:
    """What each policy of the list plays, by its name."""
    whole = Plan("", tasks, config.eval.n_episodes, config.seed, shard=config.part)
    names = distinct_names(config.policies)
    return {name: replace(whole, policy_place=place, policy_count=len(names)) for place, name in enumerate(names)}


@dataclass(slots=True)
class _Memory:
    """How much of it weights may take."""

    asked: int
    """How many policies the user wants in memory at once; 0: as many as fit."""
    _budget: float | None = None
    _held: int = 0
    _count: int = 0
    _largest: int = 0

    def admit(self, policy: Policy) -> None:
        """Keep a policy's weights, or release them until it is its turn."""
        if not isinstance(policy, Releasable):
            return
        size = policy.weight_bytes
        if self._budget is None:
            self._budget = SHARE * (policy.free_bytes + size)
        self._largest = max(self._largest, size)
        if self._held + size > self._budget or self._count == self.asked > 0:
            policy.release()
        if not policy.released:
            self._held += size
            self._count += 1

    def at_once(self) -> int:
        """How many fit if all are as large as the largest; at most the usual number, unless the user wants more."""
        if self.asked or self._budget is None:
            return self.asked or MOST_AT_ONCE
        return max(1, min(MOST_AT_ONCE, int(self._budget / self._largest)))
