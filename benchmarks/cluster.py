"""Measures what a Ray cluster costs compared with the local pool, with equal cores, in one run.

python benchmarks/cluster.py --output=benchmarks/2026-11-cluster.md
python benchmarks/cluster.py --scale=small --only=experts
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from campaign import Measurements, run_campaign
from report import Figure, Section
from stand_ins import IMAGE_AND_STATE, STATE_ONLY
from usage import CpuAccount

import yardarm
from yardarm.cluster import RayOptions
from yardarm.evaluation import EvaluationListener
from yardarm.machine import usable_cores
from yardarm.policies import PolicySpec
from yardarm.results import RunResult
from yardarm.tasks.metaworld import MetaworldConfig

METHOD = """
A cluster of one node, with as many CPUs as the machine has cores, is running before the clock starts, as clusters
usually are. The same evaluation runs on it and on the local pool in turn, and every episode must be the same. Both
have the same number of workers. On the cluster, the node's agent holds the policy, as it does without a GPU; where
stated, a replica holds it instead: a separate process, to which looks go through Ray's object store.

**Playing** lasts from the first episode's start to the last one's end, which grows with the number of episodes.
**CPU time** is what all processes used during that time: workers, policy, and on the cluster also Ray's own. A run that
keeps its cores busy cannot take less; and if other programs share the machine, it says more than the clock. **The whole
call** is `yardarm.evaluate` from start to end, with what happens once: joining the cluster, starting an agent and a
replica there, importing simulators, leaving. The table has medians over the rounds.

The policy is a stand-in that plays recorded actions, in chunks. With images it computes for 20 ms of CPU time,
whatever the batch; with states it answers at once, so that only messages are measured. Experts play in the workers.
"""

MOST = 1.15


@dataclass(frozen=True)
class Sizes:
    """What is played, and how often."""

    title: str
    policy: PolicySpec
    task: str
    n_episodes: int
    rounds: int
    replicas: int = 0


class Clock(EvaluationListener):
    """Takes time and CPU time from the first episode's start to the last one's end."""

    def __init__(self) -> None:
        self._cpu = CpuAccount()
        self._left = 0

    def started(self, path: Path, plans: Sequence[Any], missing: int, workers: int) -> None:
        self._left = missing
        self._cpu.__enter__()
        self._began = time.perf_counter()

    def finished(self, record: Any) -> None:
        self._left -= 1
        if not self._left:
            self.seconds = time.perf_counter() - self._began
            self._cpu.__exit__()
            self.cpu_s = self._cpu.main_s + self._cpu.descendants_s


@dataclass
class Times:
    """Seconds of each round."""

    playing: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)

    def add(self, sizes: Sizes, folder: Path, **runner: Any) -> RunResult:
        clock, before = Clock(), time.perf_counter()
        env = MetaworldConfig(task=sizes.task)
        result = yardarm.evaluate(
            sizes.policy, env, n_episodes=sizes.n_episodes, output_dir=folder, listener=clock, **runner
        )
        self.whole.append(time.perf_counter() - before)
        self.playing.append(clock.seconds)
        self.cpu.append(clock.cpu_s)
        return result


@contextlib.contextmanager
def running_cluster() -> Iterator[str]:
    """A cluster of one node, and its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "disabled"
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=usable_cores(), include_dashboard=False)
        yield cluster.address
    finally:
        cluster.shutdown()


def against_local(sizes: Sizes) -> Section:
    local, on_ray = Times(), Times()
    section = Section(sizes.title)
    with running_cluster() as address, tempfile.TemporaryDirectory() as folder:
        for turn in range(sizes.rounds):
            at_home = local.add(sizes, Path(folder, f"local-{turn}"))
            options = RayOptions(address=address, policy_replicas=sizes.replicas)
            elsewhere = on_ray.add(sizes, Path(folder, f"ray-{turn}"), runner="ray", ray=options)
            assert _courses(at_home) == _courses(elsewhere), "episodes differ"
    section.figures += [
        _figure(f"{sizes.title}: {len(at_home.episodes)} episodes take longer on Ray", local.playing, on_ray.playing),
        _figure(f"{sizes.title}: CPU time", local.cpu, on_ray.cpu),
        _figure(f"{sizes.title}: the whole call", local.whole, on_ray.whole, limit=0),
    ]
    section.notes += [
        f"Seconds of playing: local {_listed(local.playing)}, Ray {_listed(on_ray.playing)}.",
        f"CPU time: local {_listed(local.cpu)}, Ray {_listed(on_ray.cpu)}.",
        f"Seconds of the whole call: local {_listed(local.whole)}, Ray {_listed(on_ray.whole)}.",
        "Every episode was the same.",
    ]
    return section


def _figure(name: str, local: Sequence[float], on_ray: Sequence[float], limit: float = MOST) -> Figure:
    ratio = statistics.median(on_ray) / statistics.median(local)
    against = f"local: {statistics.median(local):.1f} s"
    return Figure(name, f"{ratio:.2f}×", against, f"at most {limit}×" if limit else "", ratio <= limit)


def _courses(result: RunResult) -> dict[Any, Any]:
    return {record.key: record.course() for record in result.episodes}


def _listed(seconds: Sequence[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in seconds)


def playback(chunk: int, inputs: Sequence[str], think_s: float) -> PolicySpec:
    return PolicySpec("stand_ins:PlaybackPolicy", {"chunk": chunk, "inputs": tuple(inputs), "think_s": think_s})


PICTURES = playback(25, IMAGE_AND_STATE, 0.02)
STATES = playback(10, STATE_ONLY, 0.0)
EXPERT = PolicySpec("expert")
THREE = "door-open-v3,assembly-v3,push-v3"

PICTURES_TITLE, STATES_TITLE = "Looks of 480×480, chunks of 25", "States only, chunks of 10"
IN_REPLICA = f"{STATES_TITLE}, the policy in a replica"
PICTURES_IN_REPLICA = f"{PICTURES_TITLE}, the policy in a replica"


def campaign(task: str, pictures: int, experts: int, states: int, rounds: int) -> Measurements:
    """All measurements, with these numbers of episodes per task."""
    sizes = {
        "pictures": Sizes(PICTURES_TITLE, PICTURES, task, pictures, rounds),
        "pictures_replica": Sizes(PICTURES_IN_REPLICA, PICTURES, task, pictures, rounds, replicas=1),
        "experts": Sizes("Experts in the workers", EXPERT, "mt10", experts, rounds),
        "states": Sizes(STATES_TITLE, STATES, task, states, rounds),
        "replica": Sizes(IN_REPLICA, STATES, task, states, rounds, replicas=1),
    }
    return {name: partial(against_local, own) for name, own in sizes.items()}


FULL = campaign(THREE, pictures=2, experts=8, states=6, rounds=3)
SMALL = campaign("push-v3", pictures=3, experts=2, states=8, rounds=1)


def main() -> None:
    run_campaign("A Ray cluster against the local pool", __doc__ or "", METHOD, FULL, SMALL)


if __name__ == "__main__":
    main()
