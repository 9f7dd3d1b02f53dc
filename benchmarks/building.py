"""What building a simulator costs in a new process, as in the engine's workers, and in one that has built others.

python benchmarks/building.py
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import time

from yardarm.simulators.metaworld import MetaworldSimulator
from yardarm.tasks import TaskSpec
from yardarm.tasks.metaworld import MetaworldConfig

COLUMNS = ("wall s", "user s", "system s", "page faults")


def main() -> None:
    tasks = MetaworldConfig(task="mt10").tasks()
    gc.collect()
    gc.freeze()  # as the launcher does
    print("| | " + " | ".join(COLUMNS) + " |\n|---|---|---|---|---|")
    print(row("each in a fresh fork, as the engine does", [in_a_fork(task) for task in tasks]))
    print(row("all in one process, one after another", [build(task) for task in tasks]))


def build(task: TaskSpec) -> tuple[float, ...]:
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    simulator = MetaworldSimulator(task)
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    simulator.close()
    used = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, after.ru_minflt - before.ru_minflt)
    return wall_s, *used


def in_a_fork(task: TaskSpec) -> tuple[float, ...]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, pickle.dumps(build(task)))
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pickle.load(pipe)


def row(name: str, costs: list[tuple[float, ...]]) -> str:
    *seconds, faults = (sum(column) for column in zip(*costs, strict=True))
    return f"| {name} | " + " | ".join(f"{value:.2f}" for value in seconds) + f" | {int(faults):,} |"


if __name__ == "__main__":
    main()
