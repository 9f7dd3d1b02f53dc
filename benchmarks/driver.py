"""Measures what the main process costs an episode, with up to a thousand workers that answer as simulators would.

python benchmarks/driver.py --output=benchmarks/2026-11-driver.md
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from campaign import Measurements, run_campaign
from processes import in_fresh_process
from puppets import Costs, PuppetPool
from report import Figure, Section

from yardarm.evaluation import EvalConfig, EvalOptions, Listener, evaluate, session
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.results import EpisodeRecord
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig

INPUTS = ("observation.image", "observation.state")
# Measured by benchmarks/engine.py on this kind of machine: 480×480 by Mesa, episodes of 500 steps, chunks of 100.
META_WORLD = Costs(reset_s=0.03, step_s=0.0006, look_s=0.23)
WARM_UP_S = 3.0
METHOD = """
"""


class InstantPolicy:
    """Answers at once with the same hundred actions, as a policy elsewhere would seem to the main process."""

    place = "host"
    quick = True
    id = "instant"
    wants = ObservationSpec(INPUTS)

    def __init__(self, chunk: int) -> None:
        self._chunk = ActionChunk(np.zeros((chunk, 4), np.float32))

    def start(self, episode: EpisodeSpec) -> None:
        """Keeps nothing."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [self._chunk for _ in requests]


class Clock(Listener):
    """Notes the CPU time of this process, from the first second after the warm-up to the last episode."""

    def __init__(self) -> None:
        self.began = 0.0
        self.marks: list[tuple[float, float, int]] = []
        self.count = 0

    def started(self, path: Path, plans: Sequence[Any], missing: int, workers: int) -> None:
        self.began = time.perf_counter()

    def finished(self, record: EpisodeRecord) -> None:
        self.count += 1
        now = time.perf_counter()
        if now - self.began > WARM_UP_S:
            self.marks.append((now, time.process_time(), self.count))


def drive(workers: int, seconds: float, costs: Costs = META_WORLD) -> dict[str, float]:
    """Run for about so long; returns episodes a second, the main process's cores, and its CPU time an episode."""
    expected = workers / costs.episode_s
    tasks = MetaworldConfig(task="easy,medium,hard,very_hard")
    episodes = max(1, round(expected * (seconds + WARM_UP_S) / 50))
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, _puppets(workers, costs):
        options = EvalOptions(n_episodes=episodes, batch_size=1)  # pinned: nobody fits the number of workers
        evaluate(EvalConfig(tasks, InstantPolicy(costs.chunk), options, output_dir=Path(folder)), clock)
    # The end is left out: there are fewer and fewer workers at work.
    marks = clock.marks[: max(2, int(0.85 * len(clock.marks)))]
    (first_s, first_cpu, first), (last_s, last_cpu, last) = marks[0], marks[-1]
    rate = (last - first) / (last_s - first_s)
    return {
        "rate": rate,
        "expected": expected,
        "cores": (last_cpu - first_cpu) / (last_s - first_s),
        "cpu_ms": 1e3 * (last_cpu - first_cpu) / (last - first),
        "episodes": last - first,
        "threads": threading.active_count(),
    }


@contextlib.contextmanager
def _puppets(workers: int, costs: Costs) -> Iterator[None]:
    @contextlib.contextmanager
    def open_puppets(*_: Any) -> Iterator[tuple[PuppetPool, None]]:
        with contextlib.closing(PuppetPool(workers, costs, INPUTS)) as pool:
            yield pool, None

    with (
        mock.patch.object(session, "open_pool", open_puppets),
        mock.patch.object(session, "how_many_workers", return_value=workers),
    ):
        yield


def measure(workers: Sequence[int], seconds: float) -> Section:
    section = Section("The main process with many workers")
    for count in workers:
        found = in_fresh_process(partial(drive, count, seconds))
        target = count == max(workers)
        section.figures.append(
            Figure(
                f"{count:,} workers: cores of the main process",
                f"{found['cores']:.2f} ({found['cpu_ms']:.2f} ms an episode)",
                f"{found['rate']:.0f} episodes a second, of {found['expected']:.0f} that the workers could play",
                "below 1" if target else "",
                found["cores"] < 1,
            )
        )
    return section


FULL: Measurements = {"meta-world": partial(measure, (10, 100, 300, 1000), 20.0)}
SMALL: Measurements = {"meta-world": partial(measure, (10, 100), 3.0)}

if __name__ == "__main__":
    run_campaign("The main process with many workers", __doc__ or "", METHOD, FULL, SMALL)
