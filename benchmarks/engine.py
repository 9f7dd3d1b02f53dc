"""Measures the engine's speed and memory, and compares them with baselines, all in one run.

python benchmarks/engine.py --output=benchmarks/2026-11-engine.md
python benchmarks/engine.py --scale=small --only=chunks100,mt50
"""

from __future__ import annotations

from functools import partial

from campaign import Measurements, run_campaign
from looking import ChunkSizes, UnequalSizes, chunks, unequal
from resident import TaskMemorySizes, instant_episodes, memory_over_tasks, worker_memory
from stepping import ExpertSizes, StateSizes, experts, state_only

METHOD = """
Each figure is compared with its baseline in the same run, one part of the baseline before the engine's run and the
rest after it. The engine is called as a user calls it (`yardarm.evaluate` into a new folder), and its wall time is
that of the whole call: starting the launcher and the workers, building simulators, opening OpenGL contexts, writing
the journal and the recorded actions. Lockstep and the bare loop do none of this: their clocks start when their
simulators are built (and have rendered once), and they write nothing. The bound of the experts includes building, but
not importing. All processes of baselines get the same environment as the engine's workers (one thread each).

**Lockstep** is Gymnasium's `AsyncVectorEnv` over the same simulators, as many envs as the engine has workers, with
observations in its shared memory and automatic resets off. It renders and returns image and state at every step; envs
that are done are still stepped until the slowest is done; the policy is asked once for the whole batch when its chunk
is used up. Engine and lockstep drive the same stand-in policy, which spins for 20 ms of CPU time at each call, whatever
the batch (a busy loop that holds Python's lock), and plays recorded actions. Rewards are compared bit by bit. With
chunks, lockstep would take hours: it plays only the first steps, and its mean times per step and per inference are
scaled to 500 steps (without its resets and their renderings). The engine plays all of them.

**Costs** of a step and of a look are CPU time, measured by the simulators themselves in the same run of the engine,
because the speed of a shared machine drifts by tens of percent within seconds. The first look of each
simulator, which opens the context and compiles shaders, counts as an ordinary one. For comparison, bare loops in as
many processes as there are cores measure the same steps and looks before and after. An inference costs 20 ms by
construction.

**What arithmetic allows** is the measured wall time of the baseline, divided by the wall time of an engine that keeps
all cores busy with only its steps, looks and inferences: (steps × cost + looks × cost + inferences × 20 ms) /
cores. This is stricter than the ratio of the costs alone, which is given too, because it does not credit the engine
with what lockstep loses at its barriers. **Efficiency** is the same CPU time divided by (the engine's wall time ×
cores).
"""

ONE, TWO, THREE = "door-open-v3", "door-open-v3,assembly-v3", "door-open-v3,assembly-v3,push-v3"

# Long enough that the start, which is included, does not hide what is measured.
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
# Short enough to test a change; the figures mean little.
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
    run_campaign("Speed and memory of the engine", __doc__ or "", METHOD, FULL, SMALL)


if __name__ == "__main__":
    main()
