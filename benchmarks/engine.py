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
        arguments.output.write_text(document(sections, time.perf_counter() - started))


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
