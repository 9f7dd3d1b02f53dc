"""Measures what the main process costs per episode, with up to a thousand workers that answer as simulators would.

python benchmarks/driver.py --output=benchmarks/2026-11-driver.md
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from campaign import Measurements, run_campaign
from driving import Drive, chunked, drive, fit_driver, in_ms, time_groups
from report import Figure, Section

GROUPS = (1, 3, 10, 30, 100, 300)
METHOD = """
The main process is the real one: `yardarm.evaluate` with its scheduler, sockets, shared memory, journal and files, on
50 tasks of Meta-World. Its workers are puppets: one other process holds the other ends of their sockets, and answers
each order with a real message after the time that a simulator takes (30 ms for a reset, 0.6 ms for a step, 230 ms for
a look at 480×480 pixels with software rendering; 500 steps and 5 looks per episode), give or take a fifth, so that
they do not run in step. Nothing is drawn, and no pixels are read; the policy answers at once. So the figures are
what the scheduler itself costs, not what a policy in its process would add.

**Cores at the full rate** are the CPU time of an episode times the episodes that the workers could play per second:
a machine that is busy with other things plays fewer, and must not look cheaper for it. Rates and CPU time (of all
threads of the main process, including the writer's) are taken from the end of the third second until 85 % of the
remaining episodes are on disk. With the most workers, the run is repeated, and the median counts. What the
workers could play is their number divided by the seconds of an episode without any waiting. The process that plays
the workers shares the machine's cores: the notes say how late its answers were.

**The parts of the cost**: runs of 200 and 600 workers with 1, 5 and 20 looks in episodes of the same length. (With
few workers, every pass finds the caches cold and costs up to four times as much; that does not matter there.)
CPU time of its thread = passes × p + looks × a + episodes × b, by least squares of the relative errors. A pass is one
round of the scheduler's loop, which serves all reports since the last one; a look is a report and the order
that answers it; b is starting and recording an episode. Writing is measured separately: what the writer's threads do
until groups of episodes (12 kB each, and a line of the journal, over 50 folders) are on disk, with every file
flushed.
"""


def measure_workers(workers: Sequence[int], seconds: float, rounds: int) -> Section:
    section = Section("The main process with many workers")
    for count in workers:
        target = count == max(workers)
        runs = [drive(count, seconds) for _ in range(rounds if target else 1)]
        section.figures.append(_cores(runs, "below 1" if target else ""))
        section.notes += [_describe(run) for run in runs]
    return section


def _cores(runs: Sequence[Drive], target: str) -> Figure:
    """The cores that would be used if workers never waited: a busy machine may play more slowly."""
    at_full_rate = sorted(run.cpu_ms * run.possible / 1e3 for run in runs)
    spread = f" ({at_full_rate[0]:.2f}–{at_full_rate[-1]:.2f})" if len(runs) > 1 else ""
    cost, cores = median(run.cpu_ms for run in runs), median(run.cores for run in runs)
    return Figure(
        f"{runs[0].workers:,} workers: cores of the main process at their full rate",
        f"{median(at_full_rate):.2f}{spread}, {cost:.2f} ms an episode",
        f"{cores:.2f} at the rate of the run, {median(run.rate for run in runs):.1f} episodes per second",
        target,
        median(at_full_rate) < 1,
        f"{runs[0].possible:.1f} episodes per second",
    )


def _describe(run: Drive) -> str:
    return (
        f"{run.workers:,} workers, looks an episode: {run.costs.chunks}; {run.episodes:,} episodes in "
        f"{run.wall_s:.1f} s ({run.rate:.1f} per second of {run.possible:.1f}), {run.cpu_ms:.2f} ms each, "
        f"{1e3 * run.loop_s / run.episodes:.2f} of them in the scheduler's thread; "
        f"{run.episodes * (run.costs.chunks + 1) / run.passes:.1f} reports a pass; "
        f"workers answered {1e3 * run.late_s:.1f} ms late; "
        f"with waiting for a core, everything took the scheduler {run.stretch:.1f} times its CPU time."
    )


def measure_parts(workers: Sequence[int], chunks: Sequence[int], seconds: float, rounds: int) -> Section:
    groups = time_groups(GROUPS, rounds)
    writer = groups.fit()
    runs = [drive(count, seconds, chunked(number)) for count in workers for number in chunks]
    loop = fit_driver(runs)
    figures = [
        _cost("a pass of the scheduler", loop.pass_s),
        _cost("a look", loop.look_s),
        _cost("an episode", loop.episode_s),
        Figure("writing a group of n episodes: CPU time", f"{in_ms(writer.cpu)} ms", "", "", True),
        Figure(
            "until a group of n episodes is on disk",
            f"{in_ms(writer.disk)} ms",
            "",
            "",
            True,
            f"{1 / writer.disk.episode_s:,.0f} episodes per second",
        ),
    ]
    off = [loop.of(run.passes, run.episodes * run.costs.chunks, run.episodes) / run.loop_s - 1 for run in runs]
    notes = [f"{_describe(run)} The fit is {error:+.0%} off." for run, error in zip(runs, off, strict=True)]
    measured = ", ".join(
        f"{size:,} in {1e3 * own:.1f} ms ({1e3 * groups.cpu_s[size]:.1f} ms of CPU time)"
        for size, own in groups.wall_s.items()
    )
    return Section("The parts of the cost", figures, [*notes, f"Groups of episodes, medians of {rounds}: {measured}."])


def _cost(what: str, seconds: float) -> Figure:
    return Figure(f"{what}: CPU time", f"{1e3 * seconds:.3f} ms", "", "", True)


FULL: Measurements = {
    "meta-world": partial(measure_workers, (10, 100, 300, 1000), 8.0, rounds=3),
    "parts": partial(measure_parts, (200, 600), (1, 5, 20), 4.0, rounds=7),
}
SMALL: Measurements = {
    "meta-world": partial(measure_workers, (10, 100), 3.0, rounds=1),
    "parts": partial(measure_parts, (200,), (1, 5, 20), 3.0, rounds=3),
}

if __name__ == "__main__":
    run_campaign("The main process with many workers", __doc__ or "", METHOD, FULL, SMALL)
