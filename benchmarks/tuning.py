"""Measures how close the number of workers that a run chooses comes to the best one.

python benchmarks/tuning.py --output=benchmarks/2026-11-tuning.md
python benchmarks/tuning.py --scale=small --only=waiting
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from campaign import Measurements, run_campaign
from report import Figure, Section
from stand_ins import IMAGE_AND_STATE, STATE_ONLY, PlaybackPolicy

import yardarm
from yardarm.evaluation import EvaluationListener
from yardarm.policies import ActionChunk, Policy, Request
from yardarm.results import EpisodeRecord, RunFolder
from yardarm.tasks.metaworld import MetaworldConfig

log = logging.getLogger("benchmark")

METHOD = """
Each kind of policy plays the same episodes with fixed numbers of workers (`--eval.batch_size=N`), and tuned, in an
order that is reversed each time. **The rule** is the number that a run starts with, and was the number of the whole run
before tuning existed: as many workers as cores, one more for a policy on the host without its own threads, twice as
many for a remote one. A run's **speed** is episodes per second in its second half, without the last N: the effect of
the number of workers once it is chosen. The effect of tuning on the whole of such a short run shows in the **wall
times**, those of the whole call. Medians of three runs. Images are 96×96, drawn in software. Policies are stand-ins
that play recorded actions: they spin if their time is CPU time, and sleep otherwise.

**Distance from the best**: the speed of the tuned run divided by that of the fastest fixed one. The target is 0.9. The
fastest of several medians is hard to beat: noise alone puts it a few percent above any single one.
"""


class Sleeper(PlaybackPolicy):
    """Uses no core while it thinks, as a policy on a GPU, and takes as long for a batch as for one request."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        time.sleep(self.think_s)
        return [ActionChunk(self._next_actions(request)) for request in requests]


class Elsewhere(Sleeper):
    """A policy behind a socket, with as many connections as needed."""

    lanes = 64


@dataclass(frozen=True)
class Kind:
    """A policy and its tasks."""

    title: str
    policy: Callable[[], str | Policy]
    env: MetaworldConfig
    n_episodes: int
    rule: int
    """The number of workers that it got on two cores before tuning existed."""


class Clock(EvaluationListener):
    """Records when episodes finish."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.tuned_to = ""

    def tuned(self, text: str) -> None:
        self.tuned_to = text

    def finished(self, record: EpisodeRecord) -> None:
        self.times.append(time.perf_counter())


@dataclass(frozen=True)
class Trial:
    """One run."""

    wall_s: float
    speed: float
    workers: int
    said: str


def trial(kind: Kind, workers: int) -> Trial:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        options: dict[str, Any] = {"n_episodes": kind.n_episodes, "batch_size": workers, "output_dir": folder}
        result = yardarm.evaluate(kind.policy(), kind.env, listener=clock, **options)
        wall_s = time.perf_counter() - started
        used = RunFolder(result.path).read_manifest().newest.batch_size
    assert not result.counts.errors, "an episode ended in an error"
    steady = clock.times[len(clock.times) // 2 : -used]
    speed = (len(steady) - 1) / (steady[-1] - steady[0])
    log.info("  %s workers: %.2f episodes/s, %.1f s; %s", workers or f"{used} (tuned)", speed, wall_s, clock.tuned_to)
    return Trial(wall_s, speed, used, clock.tuned_to)


def compare(kind: Kind, numbers: Sequence[int], repeats: int) -> Section:
    trials: dict[int, list[Trial]] = {number: [] for number in (0, *numbers)}
    for repeat in range(repeats):
        for number in list(trials)[:: 1 if repeat % 2 == 0 else -1]:
            trials[number].append(trial(kind, number))
    speeds = {number: statistics.median(each.speed for each in made) for number, made in trials.items()}
    walls = {number: statistics.median(each.wall_s for each in made) for number, made in trials.items()}
    best = max(numbers, key=lambda number: speeds[number])
    ratio, over_rule = speeds[0] / speeds[best], speeds[0] / speeds[kind.rule]
    chosen = ", ".join(str(each.workers) for each in trials[0])
    section = Section(kind.title)
    section.figures.append(
        Figure(
            kind.title,
            f"{ratio:.2f} ({chosen} workers)",
            f"the best, {best} workers; {over_rule:.2f}× the rule's {kind.rule}",
            "≥ 0.90",
            ratio >= 0.9,
        )
    )
    section.notes += [
        f"{len(kind.env.tasks()) * kind.n_episodes} episodes, {repeats} runs of each number.",
        "Episodes per second: "
        + ", ".join(f"{number}: {speeds[number]:.2f}" for number in numbers)
        + f"; tuned: {speeds[0]:.2f}.",
        "Wall seconds: "
        + ", ".join(f"{number}: {walls[number]:.1f}" for number in numbers)
        + f"; tuned: {walls[0]:.1f} ({walls[kind.rule] / walls[0]:.2f}× as fast as the rule).",
        *(f"Said: {said}." for said in dict.fromkeys(each.said for each in trials[0]) if said),
    ]
    return section


def small_images(steps: int) -> MetaworldConfig:
    size = {"observation_height": 96, "observation_width": 96}
    return MetaworldConfig(task="door-open-v3", episode_length=steps, **size)


STATES = Kind(
    "States, experts in the worker",
    lambda: "expert",
    MetaworldConfig(task="door-open-v3,push-v3", obs_type="state"),
    n_episodes=80,
    rule=2,
)
IMAGES = Kind(
    "Images, chunks of 10, 20 ms of CPU an inference",
    lambda: PlaybackPolicy(10, IMAGE_AND_STATE, think_s=0.02),
    small_images(30),
    n_episodes=40,
    rule=3,
)
WAITING = Kind(
    "Images, one action at a time, 200 ms an inference that needs no core",
    lambda: Sleeper(1, IMAGE_AND_STATE, think_s=0.2),
    small_images(5),
    n_episodes=40,
    rule=3,
)
ELSEWHERE = Kind(
    "States, chunks of 10, a policy elsewhere that answers after 100 ms",
    lambda: Elsewhere(10, STATE_ONLY, think_s=0.1),
    MetaworldConfig(task="door-open-v3", obs_type="state", episode_length=100),
    n_episodes=60,
    rule=4,
)
FULL: Measurements = {
    "states": partial(compare, STATES, (2, 4), 3),
    "images": partial(compare, IMAGES, (3, 6), 3),
    "waiting": partial(compare, WAITING, (3, 6, 12), 3),
    "elsewhere": partial(compare, ELSEWHERE, (4, 8, 16), 3),
}
SMALL: Measurements = {
    "states": partial(compare, STATES, (2, 8), 1),
    "images": partial(compare, IMAGES, (3, 8), 1),
    "waiting": partial(compare, WAITING, (3, 8), 1),
    "elsewhere": partial(compare, ELSEWHERE, (4, 16), 1),
}


def main() -> None:
    run_campaign("The number of workers that a run chooses", __doc__ or "", METHOD, FULL, SMALL)


if __name__ == "__main__":
    main()
