"""Compares the engine with lockstep for a policy that reads images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bare import measure_costs
from costs import Costs
from engine_run import EngineRun, run_engine
from lockstep import LockstepRun, play_lockstep
from report import Figure, Section
from stand_ins import HORIZON, IMAGE_AND_STATE, CostedConfig, PlaybackPolicy, UnequalConfig, unequal_length

from yardarm.machine import usable_cores

THINK_S = 0.02
FIRST_SEED = 1000
LEAST_EFFICIENCY = 0.85
LEAST_SHARE = 0.8
LEAST_GAIN = 1.3


@dataclass(frozen=True)
class ChunkSizes:
    """How much to play for one length of chunks."""

    chunk: int
    tasks: str
    batches: int
    """Batches per task, each with as many episodes as there are workers."""
    lockstep_steps: int
    """Lockstep stops after this many steps of one batch of each task, before the engine's run and after it."""
    cost_looks: int
    """Looks of the bare loops per task and process, before the engine's run and after it."""


@dataclass(frozen=True)
class UnequalSizes:
    """How much to play for episodes of unequal length."""

    tasks: str
    batches: int
    limit: int
    """Steps that an episode may take."""
    cost_looks: int


@dataclass(frozen=True)
class Work:
    """CPU-seconds that the engine's run needs at least."""

    steps_s: float
    looks_s: float
    inference_s: float

    @classmethod
    def of(cls, run: EngineRun, policy: PlaybackPolicy, costs: Costs) -> Work:
        """Compute it from counts and costs; every request follows one look."""
        return cls(run.steps * costs.step_s, policy.requests * costs.look_s, policy.calls * policy.think_s)

    @property
    def total_s(self) -> float:
        return self.steps_s + self.looks_s + self.inference_s

    @property
    def least_wall_s(self) -> float:
        """Wall time if all cores did nothing else."""
        return self.total_s / usable_cores()


def chunks(sizes: ChunkSizes) -> Section:
    """Long episodes of equal length, in chunks: what is gained by looking rarely."""
    env = CostedConfig(task=sizes.tasks)
    tasks, batch = env.tasks(), range(FIRST_SEED, FIRST_SEED + workers())
    policy, lockstep_policy = stand_in(sizes.chunk), stand_in(sizes.chunk)
    lockstep = LockstepRun()
    before = measure_costs(tasks, usable_cores(), sizes.cost_looks)
    lockstep.add(play_lockstep(tasks, [batch], lockstep_policy, sizes.lockstep_steps))
    run = run_engine(policy, env, sizes.batches * len(batch))
    lockstep.add(play_lockstep(tasks, [batch], lockstep_policy, sizes.lockstep_steps))
    after = measure_costs(tasks, usable_cores(), sizes.cost_looks)

    check_same_course(run, lockstep)
    assert all(record.steps == HORIZON for record in run.result.episodes), "an episode ended early"
    work = Work.of(run, policy, run.costs)
    batches = sizes.batches * len(tasks)
    lockstep_s = lockstep.scaled_s(HORIZON, sizes.chunk, batches)
    measured, allowed = lockstep_s / run.wall_s, lockstep_s / work.least_wall_s
    calls = batches * -(-HORIZON // sizes.chunk)
    lockstep_work_s = len(run.result.episodes) * HORIZON * (run.costs.step_s + run.costs.look_s) + calls * THINK_S
    section = Section(f"Chunks of {sizes.chunk}, images of 480×480")
    section.figures = [
        Figure(
            name=f"chunks of {sizes.chunk}, 480×480 image",
            measured=f"{measured:.1f}× ({measured / allowed:.2f} of it)",
            against="lockstep over `AsyncVectorEnv`",
            allowed=f"{allowed:.1f}×",
            target=f"≥ {LEAST_SHARE} of what arithmetic allows",
            reached=measured >= LEAST_SHARE * allowed,
        ),
        efficiency_figure(f"chunks of {sizes.chunk}", run, work),
    ]
    section.notes = [
        f"Engine: {len(run.result.episodes)} episodes of {HORIZON} steps in {run.wall_s:.1f} s. Lockstep: "
        f"{1e3 * lockstep.step_s / lockstep.steps:.0f} ms a step of {len(batch)} envs, measured over {lockstep.steps} "
        f"steps, and so {lockstep_s:.0f} s for the same episodes.",
        f"Of the costs alone, as if lockstep lost nothing at its barriers: {lockstep_work_s / work.total_s:.1f}×.",
        *run_notes(run, work, policy),
        costs_note(run, policy, before, after),
    ]
    return section


def unequal(sizes: UnequalSizes) -> Section:
    """Episodes of unequal length, with a look at every step: what is gained without barriers."""
    env = UnequalConfig(task=sizes.tasks, episode_length=sizes.limit)
    tasks, size = env.tasks(), workers()
    seeds = range(FIRST_SEED, FIRST_SEED + sizes.batches * size)
    batches = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    policy, lockstep_policy = stand_in(1), stand_in(1)
    lockstep = LockstepRun()
    before = measure_costs(tasks, usable_cores(), sizes.cost_looks)
    lockstep.add(play_lockstep(tasks, batches[::2], lockstep_policy, sizes.limit))
    run = run_engine(policy, env, len(seeds))
    lockstep.add(play_lockstep(tasks, batches[1::2], lockstep_policy, sizes.limit))
    after = measure_costs(tasks, usable_cores(), sizes.cost_looks)

    check_same_course(run, lockstep)
    assert len(lockstep.rewards) == len(run.rewards), "lockstep played other episodes"
    work = Work.of(run, policy, run.costs)
    measured, allowed = lockstep.wall_s / run.wall_s, lockstep.wall_s / work.least_wall_s
    mean_length = np.mean([unequal_length(seed, sizes.limit) for seed in seeds])
    mean_slowest = np.mean([max(unequal_length(seed, sizes.limit) for seed in batch) for batch in batches])
    section = Section("Chunks of 1, episodes of unequal length")
    section.figures = [
        Figure(
            name="chunks of 1, episodes of unequal length",
            measured=f"{measured:.2f}×",
            against="lockstep over `AsyncVectorEnv`",
            allowed=f"{allowed:.2f}×",
            target=f"≥ {LEAST_GAIN}×",
            reached=measured >= LEAST_GAIN,
        ),
        efficiency_figure("chunks of 1", run, work),
    ]
    section.notes = [
        f"Episodes as of a policy that solves half of them after 10–40% of the {sizes.limit} steps allowed: "
        f"{mean_length:.1f} steps on average, the slowest of {size} {mean_slowest:.1f}; waiting for it alone costs "
        f"lockstep {mean_slowest / mean_length:.2f}×.",
        f"{len(run.rewards)} whole episodes each: engine {run.wall_s:.1f} s, lockstep {lockstep.wall_s:.1f} s "
        "(every other batch before the engine's run, the rest after it).",
        *run_notes(run, work, policy),
        costs_note(run, policy, before, after),
    ]
    return section


def stand_in(chunk: int) -> PlaybackPolicy:
    return PlaybackPolicy(chunk, IMAGE_AND_STATE, THINK_S)


def workers() -> int:
    """The engine's number of workers for a policy in the main process; lockstep gets as many envs."""
    return usable_cores() + 1


def check_same_course(run: EngineRun, lockstep: LockstepRun) -> None:
    """Check that both have played the same: rewards equal to the last bit, and no success."""
    assert run.batch_size == workers(), f"the engine chose {run.batch_size} workers"
    assert not run.result.counts.successes, "a recorded episode solved its task"
    for key, rewards in lockstep.rewards.items():
        assert np.array_equal(run.rewards[key][: len(rewards)], rewards), f"rewards differ: {key}"


def efficiency_figure(name: str, run: EngineRun, work: Work) -> Figure:
    efficiency = work.total_s / run.core_seconds
    return Figure(
        name=f"efficiency, {name}",
        measured=f"{efficiency:.2f}",
        against=f"{run.core_seconds:.0f} core-seconds",
        allowed="1",
        target=f"≥ {LEAST_EFFICIENCY}",
        reached=efficiency >= LEAST_EFFICIENCY,
    )


def run_notes(run: EngineRun, work: Work, policy: PlaybackPolicy) -> Sequence[str]:
    return [
        f"The engine's {run.steps} steps cost {work.steps_s:.1f}, its {policy.requests} looks {work.looks_s:.1f}, its "
        f"{policy.calls} inferences {work.inference_s:.1f} CPU-seconds; {run.spent()}.",
        f"Rewards equal to the last bit, no success; {run.batch_size} workers and envs; renderer: {run.renderer}.",
    ]


def costs_note(run: EngineRun, policy: PlaybackPolicy, before: Costs, after: Costs) -> str:
    outside = Work.of(run, policy, before + after).total_s / run.core_seconds
    return (
        f"CPU time inside the engine's run: {run.costs}; in bare loops before it: {before}; after it: {after}. By the "
        f"costs of the bare loops, efficiency would be {outside:.2f}."
    )
