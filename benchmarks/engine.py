"""Measures the engine's speed and memory against baselines, all in one run.

python benchmarks/engine.py --output=benchmarks/2026-11-engine.md
python benchmarks/engine.py --scale=small --only=chunks100,mt50
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from looking import ChunkSizes, UnequalSizes, chunks, unequal
from report import Section, document, table
from resident import TaskMemorySizes, instant_episodes, memory_over_tasks, worker_memory
from stepping import ExpertSizes, StateSizes, experts, state_only
from usage import CpuAccount

from yardarm.machine import usable_cores

log = logging.getLogger("benchmark")

METHOD = """
Each figure is measured against its baseline in the same run, one part of the baseline before the engine's run and the
rest after it. The engine is called as a user calls it (`yardarm.evaluate` into a new folder), and its wall time is
that of the whole call: starting the launcher and the workers, building simulators, opening OpenGL contexts, writing
the journal and the recorded actions. Lockstep and the bare loop are spared all of this: their clocks start when their
simulators are built (and have rendered once), and they write nothing. The bound of the experts includes building, but
not importing. All processes of baselines get the same environment as the engine's workers (one thread each).

**Lockstep** is Gymnasium's `AsyncVectorEnv` over the same simulators, as many envs as the engine has workers, with
observations in its shared memory and automatic resets off. It renders and returns image and state at every step; envs
that are done are stepped on until the slowest is done; the policy is asked once for the whole batch when its chunk is
used up. Engine and lockstep drive the same stand-in policy, which spins for 20 ms of CPU time at each call, whatever
the batch (a busy loop that holds Python's lock), and plays recorded actions. Rewards are compared bit by bit. With
chunks, lockstep would take hours: it plays the first steps only, and its mean times per step and per inference are
scaled to 500 steps (its resets, with their renderings, are left out). The engine plays all of them.

**Costs** of a step and of a look are CPU time, noted by the simulators themselves in the engine's run that they are
used for, because the speed of a shared machine drifts by tens of percent within seconds. The first look of each
simulator, which opens the context and compiles shaders, counts as an ordinary one. For comparison, bare loops in as
many processes as there are cores cost the same steps and looks before and after. An inference costs 20 ms by
construction.

**What arithmetic allows** is the measured wall time of the baseline, divided by the wall time of an engine that keeps
all cores busy with nothing but its steps, looks and inferences: (steps × cost + looks × cost + inferences × 20 ms) /
cores. This is stricter than the ratio of the costs alone, which is given too, because it does not credit the engine
with what lockstep loses at its barriers. **Efficiency** is the same CPU time divided by (the engine's wall time ×
cores).
"""

Measurements = dict[str, Callable[[], Section]]
ONE, TWO, THREE = "door-open-v3", "door-open-v3,assembly-v3", "door-open-v3,assembly-v3,push-v3"

# Long enough that starting up, which is counted, does not hide what is measured.
FULL: Measurements = {
    "chunks100": partial(chunks, ChunkSizes(100, THREE, batches=9, lockstep_steps=15, cost_looks=12)),
    "chunks10": partial(chunks, ChunkSizes(10, THREE, batches=2, lockstep_steps=15, cost_looks=12)),
    "unequal": partial(unequal, UnequalSizes(TWO, batches=9, limit=20, cost_looks=12)),
    "state": partial(state_only, StateSizes(THREE, n_episodes=40, bare_episodes=12)),
    "mt50": partial(experts, ExpertSizes("mt50", n_episodes=10)),
    "memory": partial(memory_over_tasks, TaskMemorySizes(many="mt50", one="reach-v3", n_episodes=3)),
    "worker": partial(worker_memory, ONE, n_episodes=3),
    "instant": partial(instant_episodes, few=100, many=10_000),
}
# Short enough to try a change; the figures mean little.
SMALL: Measurements = {
    "chunks100": partial(chunks, ChunkSizes(100, ONE, batches=3, lockstep_steps=6, cost_looks=3)),
    "chunks10": partial(chunks, ChunkSizes(10, ONE, batches=1, lockstep_steps=6, cost_looks=3)),
    "unequal": partial(unequal, UnequalSizes(ONE, batches=2, limit=20, cost_looks=3)),
    "state": partial(state_only, StateSizes(ONE, n_episodes=12, bare_episodes=6)),
    "mt50": partial(experts, ExpertSizes("mt10", n_episodes=5)),
    "memory": partial(memory_over_tasks, TaskMemorySizes(many="mt10", one="reach-v3", n_episodes=3)),
    "worker": partial(worker_memory, ONE, n_episodes=1),
    "instant": partial(instant_episodes, few=100, many=1_000),
}


def main() -> None:
    arguments = parse_arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    started = time.perf_counter()
    measurements = FULL if arguments.scale == "full" else SMALL
    sections = [measure(name, measurements[name]) for name in arguments.only]
    print(table(sections))
    if arguments.output:
        arguments.output.write_text(
            document("Speed and memory of the engine", METHOD, sections, time.perf_counter() - started)
        )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--only", default=",".join(FULL), help="what to measure; all of it: %(default)s")
    parser.add_argument("--output", type=Path, help="write a result file, too")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(FULL):
        parser.error(f"--only does not know {', '.join(sorted(unknown))}; it knows {', '.join(FULL)}")
    return arguments


def measure(name: str, measurement: Callable[[], Section]) -> Section:
    """Measure, show, and note whether the machine was quiet."""
    log.info("%s", name)
    started = time.perf_counter()
    with CpuAccount() as cpu:
        section = measurement()
    wall_s = time.perf_counter() - started
    share = cpu.others_s / (wall_s * usable_cores())
    section.notes.append(f"Measured in {wall_s:.0f} s; other programs used {share:.0%} of the machine meanwhile.")
    for line in (*(figure.row() for figure in section.figures), *section.notes):
        log.info("  %s", line)
    return section


if __name__ == "__main__":
    main()
