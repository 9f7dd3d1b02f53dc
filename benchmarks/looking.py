"""A policy that reads images: the engine against lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bare import Costs, measure_costs
from engine_run import EngineRun, run_engine
from lockstep import LockstepRun, play_lockstep
from report import Figure, Section
from stand_ins import HORIZON, IMAGE_AND_STATE, PlaybackPolicy, UnequalConfig, unequal_length

from yardarm.machine import usable_cores
from yardarm.tasks.metaworld import MetaworldConfig

THINK_S = 0.02
FIRST_SEED = 1000
TASKS = "door-open-v3,assembly-v3,push-v3"
LEAST_EFFICIENCY = 0.85
LEAST_SHARE = 0.8
LEAST_GAIN = 1.3


@dataclass(frozen=True)
class LookingSizes:
    """How much is played to measure a policy with images."""

    tasks: str
    batches: int
    """Of each task; an engine's worker, or a lockstep env, plays so many episodes of it."""
    limit: int
    """Steps of an episode."""
    cost_looks: int
    """Of each task in each process, before and after."""
    lockstep_steps: int = HORIZON
    """Lockstep stops after so many steps, and is scaled to whole episodes."""


@dataclass(frozen=True)
class Work:
    """CPU-seconds that an evaluation cannot do without."""

    steps_s: float
    looks_s: float
    inference_s: float

    @classmethod
    def of(cls, run: EngineRun, policy: PlaybackPolicy, costs: Costs) -> Work:
        return cls(run.steps * costs.step_s, policy.requests * costs.look_s, policy.calls * policy.think_s)

    @property
    def total_s(self) -> float:
        return self.steps_s + self.looks_s + self.inference_s

    def __str__(self) -> str:
        return f"steps {self.steps_s:.1f} + looks {self.looks_s:.1f} + inference {self.inference_s:.1f}"


def chunks(chunk: int, sizes: LookingSizes) -> Section:
    """Long episodes of equal length, in chunks: what looking seldom is worth."""
    env = MetaworldConfig(task=sizes.tasks)
    batch = list(range(FIRST_SEED, FIRST_SEED + lockstep_batch()))
    tasks, costs = env.tasks(), Costs()
    policy, lockstep_policy = stand_in(chunk), stand_in(chunk)
    costs.add(measure_costs(tasks, usable_cores(), sizes.cost_looks))
    before = play_lockstep(tasks, [batch], lockstep_policy, sizes.lockstep_steps)
    run = run_engine(policy, env, sizes.batches * len(batch))
    after = play_lockstep(tasks, [batch], lockstep_policy, sizes.lockstep_steps)
    costs.add(measure_costs(tasks, usable_cores(), sizes.cost_looks))

    check_same_course(run, [before, after])
    assert all(record.steps == HORIZON for record in run.result.episodes), "an episode ended early"
    work = Work.of(run, policy, costs)
    batches = sizes.batches * len(tasks)
    lockstep_s = (before.scaled_s(HORIZON, chunk, batches) + after.scaled_s(HORIZON, chunk, batches)) / 2
    measured = lockstep_s / run.wall_s
    allowed = lockstep_s / (work.total_s / usable_cores())
    section = Section(f"Chunks of {chunk}, images of 480×480")
    section.figures = [
        Figure(
            name=f"chunks of {chunk}, 480×480 image",
            measured=f"{measured:.1f}× ({measured / allowed:.2f} of what is allowed)",
            against="lockstep over `AsyncVectorEnv`",
            allowed=f"{allowed:.1f}×",
            target=f"≥ {LEAST_SHARE} of what is allowed",
            reached=measured >= LEAST_SHARE * allowed,
        ),
        efficiency_figure(f"chunks of {chunk}", run, work),
    ]
    alone = lockstep_cpu_s(sizes, chunk, len(tasks), costs) / work.total_s
    section.notes = [
        f"Engine: {len(run.result.episodes)} episodes of {HORIZON} steps in {run.wall_s:.1f} s; lockstep: "
        f"{1e3 * (before.step_s + after.step_s) / (before.steps + after.steps):.0f} ms a step of {len(batch)} envs, over "
        f"{before.steps + after.steps} steps, which makes {lockstep_s:.0f} s for the same episodes.",
        f"The costs alone, if lockstep lost nothing at its barriers: {alone:.1f}×.",
        *run_notes(run, work, policy, costs),
    ]
    return section


def unequal(sizes: LookingSizes) -> Section:
    """Episodes of unequal length, a look at every step: what the absence of barriers is worth."""
    env = UnequalConfig(task=sizes.tasks, episode_length=sizes.limit)
    tasks, costs, size = env.tasks(), Costs(), lockstep_batch()
    n_episodes = sizes.batches * size
    seeds = list(range(FIRST_SEED, FIRST_SEED + n_episodes))
    batches = [seeds[start : start + size] for start in range(0, n_episodes, size)]
    policy, lockstep_policy = stand_in(1), stand_in(1)
    costs.add(measure_costs(tasks, usable_cores(), sizes.cost_looks))
    before = play_lockstep(tasks, batches[::2], lockstep_policy, sizes.limit)
    run = run_engine(policy, env, n_episodes)
    after = play_lockstep(tasks, batches[1::2], lockstep_policy, sizes.limit)
    costs.add(measure_costs(tasks, usable_cores(), sizes.cost_looks))

    check_same_course(run, [before, after])
    work = Work.of(run, policy, costs)
    lockstep_s = before.wall_s + after.wall_s
    measured = lockstep_s / run.wall_s
    allowed = lockstep_s / (work.total_s / usable_cores())
    lengths = [unequal_length(seed, sizes.limit) for seed in seeds]
    slowest = [max(unequal_length(seed, sizes.limit) for seed in batch) for batch in batches]
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
        f"{np.mean(lengths):.1f} steps on average, the longest of {size} {np.mean(slowest):.1f}, so that barriers alone "
        f"cost lockstep {np.mean(slowest) / np.mean(lengths):.2f}×.",
        f"{len(run.result.episodes)} whole episodes each: engine {run.wall_s:.1f} s, lockstep {lockstep_s:.1f} s "
        "(half of its batches before the engine's run, half after).",
        *run_notes(run, work, policy, costs),
    ]
    return section


def stand_in(chunk: int) -> PlaybackPolicy:
    return PlaybackPolicy(chunk, IMAGE_AND_STATE, THINK_S)


def lockstep_batch() -> int:
    """As many envs as the engine chooses to have workers for a policy in the main process."""
    return usable_cores() + 1


def check_same_course(run: EngineRun, lockstep: Sequence[LockstepRun]) -> None:
    """Both must have played the same: equal rewards to the last bit, and no success."""
    assert run.batch_size == lockstep_batch(), f"the engine chose {run.batch_size} workers"
    assert not run.result.counts.successes, "a recorded episode solved its task"
    for played in lockstep:
        for key, rewards in played.rewards.items():
            assert np.array_equal(run.rewards[key][: len(rewards)], rewards), f"rewards differ: {key}"


def lockstep_cpu_s(sizes: LookingSizes, chunk: int, tasks: int, costs: Costs) -> float:
    """What lockstep costs by arithmetic: a look at every step, an inference for every chunk of a batch."""
    batches = tasks * sizes.batches
    calls = batches * -(-HORIZON // chunk)
    return batches * lockstep_batch() * HORIZON * (costs.step_s + costs.look_s) + calls * THINK_S


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


def run_notes(run: EngineRun, work: Work, policy: PlaybackPolicy, costs: Costs) -> list[str]:
    return [
        f"Rewards equal to the last bit; no success. {run.batch_size} workers and envs; renderer: {run.renderer}.",
        f"One step {1e3 * costs.step_s:.2f} ms, one look {1e3 * costs.look_s:.0f} ms, one inference "
        f"{1e3 * policy.think_s:.0f} ms of CPU; {run.steps} steps, {policy.requests} looks, {policy.calls} inferences: "
        f"{work} CPU-seconds.",
        f"Engine: {run.spent()}.",
    ]
