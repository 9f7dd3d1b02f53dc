"""Compares the engine with bare loops over the simulators, for policies that read no images."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from bare import ExpertCosts, measure_experts, play_bare
from engine_run import run_engine
from report import Figure, Section
from stand_ins import HORIZON, STATE_ONLY, PlaybackPolicy

from yardarm.machine import usable_cores
from yardarm.tasks.metaworld import MetaworldConfig

FIRST_SEED = 1000
MOST_TIMES = 1.3


@dataclass(frozen=True)
class StateSizes:
    """How much to play for a policy that reads only the state."""

    tasks: str
    n_episodes: int
    """Episodes per task, in the engine."""
    bare_episodes: int
    """Episodes per task, in each turn of the bare loop: before, between and after the engine's runs."""


def state_only(sizes: StateSizes) -> Section:
    """Measure a policy on the host that reads the state, so that only messages cost anything."""
    env = MetaworldConfig(task=sizes.tasks)
    processes = usable_cores() + 1
    seeds = range(FIRST_SEED, FIRST_SEED + sizes.bare_episodes)
    turns_s = [play_bare(env.tasks(), seeds, processes)]
    runs = {}
    for chunk in (1, 10):
        runs[chunk] = run_engine(PlaybackPolicy(chunk, STATE_ONLY), env, sizes.n_episodes)
        turns_s.append(play_bare(env.tasks(), seeds, processes))

    bare_s = statistics.mean(turns_s) / sizes.bare_episodes * sizes.n_episodes
    steps = len(seeds) * len(env.tasks()) * HORIZON
    section = Section("State-only policy")
    section.notes = [
        "Bare loop, the same episodes and resets: "
        + ", ".join(f"{1e6 * turn_s / steps:.0f}" for turn_s in turns_s)
        + " µs a step, before, between and after the engine's runs.",
    ]
    for chunk, run in runs.items():
        assert run.batch_size == processes, f"the engine chose {run.batch_size} workers"
        times = run.wall_s / bare_s
        section.figures.append(
            Figure(
                name=f"state-only policy, chunks of {chunk}",
                measured=f"{times:.2f}×",
                against=f"bare loop in {processes} processes: {bare_s:.1f} s",
                allowed="1×",
                target=f"≤ {MOST_TIMES}×",
                reached=times <= MOST_TIMES,
            )
        )
        section.notes.append(
            f"Chunks of {chunk}: {run.steps} steps in {run.wall_s:.1f} s, {1e6 * run.wall_s / run.steps:.0f} µs a "
            f"step; {run.spent()}."
        )
    return section


@dataclass(frozen=True)
class ExpertSizes:
    """How much to play with experts."""

    tasks: str
    n_episodes: int


def experts(sizes: ExpertSizes) -> Section:
    """Measure scripted experts on many tasks, where building and resetting simulators matters as much as stepping."""
    env = MetaworldConfig(task=sizes.tasks)
    tasks, cores, costs = env.tasks(), usable_cores(), ExpertCosts()
    seeds = range(FIRST_SEED, FIRST_SEED + sizes.n_episodes)
    costs.add(measure_experts(tasks[::2], seeds, cores))
    run = run_engine("expert", env, sizes.n_episodes)
    costs.add(measure_experts(tasks[1::2], seeds, cores))

    assert costs.steps == run.steps, "the bare loop and the engine played different episodes"
    bound_s = costs.total_s / cores
    times = run.wall_s / bound_s
    section = Section(f"`{sizes.tasks}` with experts")
    section.figures.append(
        Figure(
            name=f"`{sizes.tasks}` with experts, {sizes.n_episodes} episodes a task: {run.wall_s:.1f} s",
            measured=f"{times:.2f}×",
            against=f"bound of {bound_s:.1f} s",
            allowed="1×",
            target=f"≤ {MOST_TIMES}×",
            reached=times <= MOST_TIMES,
        )
    )
    built = sum(record.timing.build_s > 0 for record in run.result.episodes)
    section.notes = [
        f"{len(run.result.episodes)} episodes, {run.steps} steps; {run.result.counts.successes} solved.",
        f"The bound is CPU time on {cores} cores: building {costs.build_s:.1f} + resetting {costs.reset_s:.1f} + "
        f"stepping {costs.step_s:.1f} + experts {costs.expert_s:.1f} s, costed in {cores} processes at once; "
        "half of the tasks before the engine's run, half after.",
        f"In the engine's workers: building {run.timing('build_s'):.1f} ({built} simulators for {len(tasks)} tasks), "
        f"resetting {run.timing('reset_s'):.1f}, stepping {run.timing('step_s'):.1f}, experts "
        f"{run.timing('infer_s'):.1f} s of wall time; {run.spent()}.",
    ]
    return section
