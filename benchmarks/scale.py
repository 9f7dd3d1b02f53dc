"""Simulates evaluations with 2 to 2,000 workers and 1 to 64 copies of a policy, and compares with real runs.

python benchmarks/scale.py --output=benchmarks/2026-11-scale.md
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from campaign import Measurements, run_campaign
from driving import InstantPolicy, chunked, drive, fit_driver, in_ms, time_groups
from events import DriverCosts, Evaluation, Network, Outcome, Replicas, Setting, World, WriterCosts, jobs_of
from puppets import Costs
from report import Figure, Section
from scale_figure import Cell, Curve, Panel, draw, rounded

from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, evaluate
from yardarm.results import EpisodeRecord
from yardarm.tasks.metaworld import MetaworldConfig

WORKERS = (2, 10, 20, 50, 100, 200, 500, 1000, 2000)
REPLICAS = (1, 4, 16, 64)
BENDS_BELOW = 0.9
TASKS = MetaworldConfig(task="easy,medium,hard,very_hard").tasks()
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "scale.svg"
# 10 Gbit/s into each replica's machine, and a latency of 0.1 ms everywhere.
TEN_GIGABIT = Network(latency_s=1e-4, bytes_per_s=1.25e9)
METHOD = """
**The model** (`benchmarks/events.py`, `benchmarks/stations.py`) is a heap of events. A worker plays a chunk, looks,
and reports. The main process, whose scheduler is one thread that serves all reports in one pass, asks the replica with
the fewest waiting requests; that replica's link carries the look, one at a time; the replica infers all its waiting
requests, up to its number of rows; the main process passes the answer to the worker. At an episode's end, the worker
gets its next one from the real `EpisodeQueue`, building a simulator (0.25 s) if the task is another; the writer writes
all waiting episodes as a group, at most twenty times per second. Every time of a worker varies by up to a fifth. An
episode counts when it is on disk. Each cell starts with every worker at a different point of its episode; the first
quarter of the looks is left out.

**Its costs** are measured here: those of the main process with puppet workers (see `benchmarks/driver.py`),
those of the writer by writing groups of episodes, and those of a simulator by `benchmarks/engine.py` (30 ms per reset,
0.6 ms per step, 230 ms per look with Mesa). An inference of ACT on a CPU is from `benchmarks/2026-11-act.md` (216 ms
per row, two cores). **Assumed, because there is no GPU here**: looks of 2 ms with a GPU; an inference of ACT on a GPU,
12 ms and 1 ms per row, up to 32 rows; a small policy of states, 1 ms and 0.01 ms per row, up to 256. Also assumed:
10 Gbit/s into each replica's machine, a latency of 0.1 ms, and that a message to a worker on another machine costs the
main process as much as a local one.

**What limits a cell** is the part that is closest to what it could do if it were the only limit and always busy:
workers, policy, network, driver or journal. Writing happens in separate threads: its cost is added to the main
process's cores, and the scheduler does not wait for it.

**It bends** where, with the most replicas, a worker plays less than 90 % of the episodes that one of two workers
does.

**The check**: the same runs with puppet workers as in `benchmarks/driver.py`, at other numbers of workers and looks
than those that the costs come from (200 and 600 workers, 1 and 20 looks), and Meta-World itself with one worker
and two. The model uses the seconds that the workers measured themselves, so that the check is about the engine's cycle
and not about the speed of simulators.
"""


@dataclass(frozen=True)
class Scenario:
    """A world, and the costs of a copy of the policy."""

    name: str
    world: World
    policy: Replicas
    network: Network = TEN_GIGABIT

    def setting(self, workers: int, replicas: int) -> Setting:
        driver, writer = measured_costs()
        return Setting(workers, self.world, driver, writer, replace(self.policy, count=replicas), self.network)


MESA = World(reset_s=0.03, chunk_s=0.06, look_s=0.23, chunks=5)
ACT_ON_GPU = Replicas(batch_s=0.012, row_s=0.001, rows=32)
SCENARIOS = (
    Scenario("Meta-World, software rendering, ACT on GPUs", MESA, ACT_ON_GPU),
    Scenario("Meta-World, software rendering, ACT on CPUs", MESA, Replicas(row_s=0.216)),
    Scenario("Meta-World, looks of 2 ms by GPUs, ACT on GPUs", replace(MESA, look_s=0.002), ACT_ON_GPU),
    Scenario(
        "States only, chunks of 1, a small policy",
        World(reset_s=0.03, chunk_s=0.0006, look_s=0.00005, chunks=500, look_bytes=312),
        Replicas(batch_s=0.001, row_s=0.00001, rows=256),
    ),
)


@dataclass
class TableSection(Section):
    """A section with additional tables, each with a title."""

    tables: dict[str, list[Sequence[str]]] = field(default_factory=dict)

    def text(self) -> str:
        lines = [super().text()]
        for name, (head, *rest) in self.tables.items():
            lines += [f"**{name}**", "", _row(head), "|" + "---|" * len(head), *(_row(row) for row in rest), ""]
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@cache
def measured_costs(seconds: float = 4.0) -> tuple[DriverCosts, WriterCosts]:
    """What the main process and its writer currently cost on this machine."""
    writer = time_groups((1, 3, 10, 30, 100, 300), rounds=5).fit()
    runs = [drive(workers, seconds, chunked(chunks)) for workers in (200, 600) for chunks in (1, 20)]
    return fit_driver(runs), writer


def show_costs() -> Section:
    driver, writer = measured_costs()
    figures = [
        Figure("the scheduler: a pass", f"{1e3 * driver.pass_s:.3f} ms", "", "", True),
        Figure("the scheduler: a look", f"{1e3 * driver.look_s:.3f} ms", "", "", True),
        Figure("the scheduler: an episode", f"{1e3 * driver.episode_s:.3f} ms", "", "", True),
        Figure("writing a group of n episodes: CPU time", f"{in_ms(writer.cpu)} ms", "", "", True),
        Figure("writing a group of n episodes: until it is on disk", f"{in_ms(writer.disk)} ms", "", "", True),
    ]
    return Section("Costs used by the model", figures)


def steadily(setting: Setting) -> Outcome:
    """Simulate for long enough to measure a steady rate."""
    jobs = jobs_of(TASKS, 4 * max(setting.workers, 50) // 5)
    return Evaluation(setting, jobs).run_steadily(max(6_000, 30 * setting.workers, 60 * setting.world.chunks))


def check_puppets(workers: Sequence[int], seconds: float, rounds: int) -> Section:
    """Compare real main processes with puppet workers with the model."""
    section = Section("The model and the real main process with puppet workers")
    driver, writer = measured_costs()
    for count in workers:
        runs = [drive(count, seconds) for _ in range(rounds)]
        world = _world(runs[0].costs, median(run.late_s for run in runs))
        stretch = median(run.stretch for run in runs)
        model = steadily(Setting(count, world, driver.stretched(stretch), writer))
        rate, cores = median(run.rate for run in runs), median(run.cores for run in runs)
        section.figures += [
            _compared(f"{count:,} workers: episodes per second", rate, model.rate),
            _compared(
                f"{count:,} workers: cores of the main process", cores, model.scheduling / stretch + model.writing
            ),
        ]
        alone = steadily(Setting(count, world, driver, writer))
        measured = ", ".join(f"{run.rate:.1f} per second with {run.cores:.3f} cores" for run in runs)
        section.notes.append(
            f"{count:,} workers: {measured}; answers {1e3 * runs[0].late_s:.1f} ms late; with waiting for a core, "
            f"the scheduler took {stretch:.2f} times its CPU time, as in the model. On an otherwise idle machine, "
            f"the model predicts {alone.rate:.1f} with {alone.scheduling + alone.writing:.3f} cores."
        )
    return section


def _world(costs: Costs, late_s: float) -> World:
    """The world as the puppets play it, with each answer late by this much."""
    return World(costs.reset_s, costs.chunk * costs.step_s + late_s, costs.look_s, costs.chunks)


def _compared(name: str, measured: float, predicted: float, target: str = "") -> Figure:
    off = predicted / measured - 1
    return Figure(name, f"{measured:.3g}", f"simulated: {predicted:.3g} ({off:+.0%})", target, abs(off) <= 0.1)


class Recorder(EvaluationListener):
    """Keeps the records, and the seconds from the first hire to the last of them."""

    def __init__(self) -> None:
        self.records: list[EpisodeRecord] = []
        self.began = self.ended = 0.0

    def started(self, path: Path, plans: Sequence[Any], missing: int, workers: int) -> None:
        self.began = time.perf_counter()

    def finished(self, record: EpisodeRecord) -> None:
        self.ended = time.perf_counter()
        self.records.append(record)


def check_metaworld(episodes: int) -> Section:
    """Compare the model with Meta-World itself, drawn by Mesa, with a policy that answers at once."""
    section = Section("The model and Meta-World")
    driver, writer = measured_costs()
    config = MetaworldConfig(task="reach-v3,push-v3")
    for workers in (1, 2):
        recorder, who = Recorder(), _many(workers, "worker")
        with tempfile.TemporaryDirectory() as folder:
            options = EvalOptions(n_episodes=episodes, batch_size=workers)
            evaluate(EvalConfig(config, InstantPolicy(100), options, output_dir=Path(folder)), recorder)
        world = _observed(recorder.records)
        model = Evaluation(Setting(workers, world, driver, writer), jobs_of(config.tasks(), episodes)).run()
        section.figures.append(
            _compared(
                f"Meta-World, {_many(workers, 'worker')}: seconds of a run",
                recorder.ended - recorder.began,
                model.wall_s,
            )
        )
        section.notes.append(
            f"{who}, {len(recorder.records)} episodes of two tasks; by the workers' clocks: building "
            f"{world.build_s:.2f} s, reset {1e3 * world.reset_s:.0f} ms, 100 steps {1e3 * world.chunk_s:.0f} ms, "
            f"a look {1e3 * world.look_s:.0f} ms."
        )
    return section


def _observed(records: Sequence[EpisodeRecord]) -> World:
    """The world as measured by the workers themselves."""
    timings, chunks = [record.timing for record in records], 5
    built = [timing.build_s for timing in timings if timing.build_s]
    return World(
        reset_s=fmean(timing.reset_s for timing in timings),
        chunk_s=fmean(timing.step_s for timing in timings) / chunks,
        look_s=fmean(timing.look_s for timing in timings) / chunks,
        chunks=chunks,
        build_s=fmean(built),
        spread=0.0,
    )


def simulate(workers: Sequence[int], replicas: Sequence[int], figure: Path | None = None) -> Section:
    """Every scenario, at every size."""
    section = TableSection("Simulated")
    section.notes.append("Episodes per second, the share of what the workers could play, and the part that limits it.")
    panels = []
    for scenario in SCENARIOS:
        curves = [Curve(count, [_cell(scenario, number, count) for number in workers]) for count in replicas]
        panels.append(Panel(scenario.name, workers, curves))
        rows = [
            [f"{number:,}", *(curve.cells[place].text() for curve in curves)] for place, number in enumerate(workers)
        ]
        section.tables[scenario.name] = [["workers", *(_many(count, "replica") for count in replicas)], *rows]
        section.figures.append(_bend(scenario, curves[-1], workers))
        ceilings = scenario.setting(workers[-1], replicas[-1]).bounds()
        parts = ", ".join(f"{name} {rounded(own)}" for name, own in ceilings.items())
        section.notes.append(
            f"{scenario.name}, {workers[-1]:,} workers, {_many(replicas[-1], 'replica')}; each part alone: {parts}."
        )
    if figure is not None:
        draw(panels, figure)
    return section


def _cell(scenario: Scenario, workers: int, replicas: int) -> Cell:
    setting = scenario.setting(workers, replicas)
    bounds = setting.bounds()
    return Cell(steadily(setting).rate, bounds["workers"], min(bounds, key=bounds.__getitem__))


def _bend(scenario: Scenario, curve: Curve, workers: Sequence[int]) -> Figure:
    """The number of workers from which each plays fewer episodes than one of a few."""
    own = [cell.rate / number for number, cell in zip(workers, curve.cells, strict=True)]
    bent = [place for place, rate in enumerate(own) if rate < BENDS_BELOW * own[0]]
    limit = curve.cells[-1].limit
    where = f"from {workers[bent[0]]:,} workers on: {limit}" if bent else f"nowhere up to {workers[-1]:,} workers"
    top = f"{rounded(curve.cells[-1].rate)} episodes per second at {workers[-1]:,}"
    return Figure(f"{scenario.name}, {_many(curve.replicas, 'replica')}: where it bends", where, top, "", True)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count > 1)}"


def simulate_runs(workers: Sequence[int], episodes: int) -> Section:
    """Simulate whole runs, with building simulators, and an end at which fewer and fewer workers are busy."""
    section = Section(f"Whole runs of 50 tasks with {episodes} episodes each")
    for number in workers:
        setting = SCENARIOS[0].setting(number, REPLICAS[-1])
        outcome = Evaluation(setting, jobs_of(TASKS, episodes)).run()
        busy = outcome.rate / setting.bounds()["workers"]
        section.figures.append(
            Figure(
                f"50 tasks × {episodes}, {number:,} workers", f"{outcome.wall_s:.0f} s", f"{busy:.0%} busy", "", True
            )
        )
    return section


SMALL: Measurements = {
    "costs": show_costs,
    "puppets": partial(check_puppets, (10, 100), 3.0, rounds=1),
    "meta-world": partial(check_metaworld, 1),
    "simulation": partial(simulate, (2, 20, 200), (1, 16)),
    "runs": partial(simulate_runs, (100, 1000), 10),
}
FULL: Measurements = {
    "costs": show_costs,
    "puppets": partial(check_puppets, (10, 100, 300, 1000), 5.0, rounds=1),
    "meta-world": partial(check_metaworld, 3),
    "simulation": partial(simulate, WORKERS, REPLICAS, FIGURE),
    "runs": partial(simulate_runs, (10, 100, 300, 1000, 2000), 50),
}

if __name__ == "__main__":
    run_campaign("How far one main process goes", __doc__ or "", METHOD, FULL, SMALL)
