"""Measures the engine's speed and memory against baselines, all in one run.

python benchmarks/engine.py [--scale=small] [--only=chunks100,mt50] [--output=benchmarks/2026-11-engine.md]
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from looking import LookingSizes, chunks, unequal
from report import Section, document, table
from stepping import ExpertSizes, StateSizes, experts, state_only

log = logging.getLogger("benchmark")
THREE_TASKS = "door-open-v3,assembly-v3,push-v3"

FULL: dict[str, Callable[[], Section]] = {
    "chunks100": partial(chunks, 100, LookingSizes(THREE_TASKS, batches=9, limit=500, cost_looks=5, lockstep_steps=15)),
    "chunks10": partial(chunks, 10, LookingSizes(THREE_TASKS, batches=2, limit=500, cost_looks=5, lockstep_steps=15)),
    "unequal": partial(unequal, LookingSizes("door-open-v3,assembly-v3", batches=6, limit=30, cost_looks=5)),
    "state": partial(state_only, StateSizes(THREE_TASKS, n_episodes=60)),
    "mt50": partial(experts, ExpertSizes("mt50", n_episodes=10)),
}
SMALL: dict[str, Callable[[], Section]] = {
    "chunks100": partial(
        chunks, 100, LookingSizes("door-open-v3", batches=3, limit=500, cost_looks=3, lockstep_steps=6)
    ),
    "chunks10": partial(chunks, 10, LookingSizes("door-open-v3", batches=1, limit=500, cost_looks=3, lockstep_steps=6)),
    "unequal": partial(unequal, LookingSizes("door-open-v3", batches=2, limit=20, cost_looks=3)),
    "state": partial(state_only, StateSizes("door-open-v3", n_episodes=12)),
    "mt50": partial(experts, ExpertSizes("mt10", n_episodes=5)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--only", default=",".join(FULL), help="figures to measure: " + ", ".join(FULL))
    parser.add_argument("--output", type=Path, help="write the result file, too")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    started = time.perf_counter()
    measures = FULL if arguments.scale == "full" else SMALL
    sections = []
    for name in arguments.only.split(","):
        log.info("measuring %s …", name)
        section = measures[name]()
        sections.append(section)
        for figure in section.figures:
            log.info("%s", figure.row())
        for note in section.notes:
            log.info("  %s", note)
    print(table(sections))
    if arguments.output:
        arguments.output.write_text(document(sections, "", time.perf_counter() - started))


if __name__ == "__main__":
    main()
