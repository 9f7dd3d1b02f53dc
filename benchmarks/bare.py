"""What the work itself costs without an engine: bare loops over the simulators, in separate processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Barrier

import numpy as np
from costs import Costs
from processes import in_processes
from stand_ins import IMAGE_AND_STATE, recorded_actions

from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, TaskSpec

log = logging.getLogger("benchmark")

WARM_UP_LOOKS = 2
STEPS_BETWEEN_LOOKS = 10


def measure_costs(tasks: Sequence[TaskSpec], processes: int, looks: int) -> Costs:
    """Measure steps and looks in as many processes as there are cores, so that they slow each other down as usual."""
    log.info("  costs of steps and looks, in %d processes", processes)
    return sum(in_processes(_cost, [(tasks, looks)] * processes), Costs())


def _cost(barrier: Barrier, tasks: Sequence[TaskSpec], looks: int) -> Costs:
    costs, clock = Costs(), time.process_time
    for task in tasks:
        simulator = _build(task)
        episode = EpisodeSpec(task, 0, 1000)
        actions = recorded_actions(episode)[: looks * STEPS_BETWEEN_LOOKS].reshape(looks, STEPS_BETWEEN_LOOKS, -1)
        simulator.reset(episode)
        for _ in range(WARM_UP_LOOKS):  # the first ones open the OpenGL context and compile its shaders
            simulator.observe(IMAGE_AND_STATE)
        barrier.wait()
        for chunk in actions:
            started = clock()
            for action in chunk:
                simulator.step(action)
            stepped = clock()
            simulator.observe(IMAGE_AND_STATE)
            costs += Costs(len(chunk), stepped - started, 1, clock() - stepped)
        simulator.close()
    return costs


def play_bare(tasks: Sequence[TaskSpec], seeds: Sequence[int], processes: int) -> float:
    """Wall time of a plain loop over all episodes, distributed over processes that have built their simulators."""
    log.info("  bare loop: %d episodes of each of %d tasks, in %d processes", len(seeds), len(tasks), processes)
    episodes = [EpisodeSpec(task, index, seed) for task in tasks for index, seed in enumerate(seeds)]
    shares = [(episodes[start::processes],) for start in range(processes)]
    spans = in_processes(_play, shares)
    return max(end for _, end in spans) - min(start for start, _ in spans)


def _play(barrier: Barrier, episodes: Sequence[EpisodeSpec]) -> tuple[float, float]:
    """When the loop started and ended, on the clock that all processes share."""
    simulators = {episode.task.name: _build(episode.task) for episode in episodes}
    barrier.wait()
    started = time.monotonic()
    for episode in episodes:
        simulator = simulators[episode.task.name]
        simulator.reset(episode)
        for action in recorded_actions(episode)[: episode.task.max_steps]:
            simulator.step(action)
    return started, time.monotonic()


@dataclass
class ExpertCosts:
    """CPU-seconds that scripted experts' episodes need at least."""

    build_s: float = 0.0
    reset_s: float = 0.0
    step_s: float = 0.0
    expert_s: float = 0.0
    steps: int = 0

    @property
    def total_s(self) -> float:
        return self.build_s + self.reset_s + self.step_s + self.expert_s

    def add(self, other: ExpertCosts) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def measure_experts(tasks: Sequence[TaskSpec], seeds: Sequence[int], processes: int) -> ExpertCosts:
    """Let each task's expert play it with these seeds; the tasks are distributed over processes."""
    log.info("  costs of experts on %d tasks, in %d processes", len(tasks), processes)
    total = ExpertCosts()
    for costs in in_processes(_play_experts, [(tasks[start::processes], seeds) for start in range(processes)]):
        total.add(costs)
    return total


def _play_experts(barrier: Barrier, tasks: Sequence[TaskSpec], seeds: Sequence[int]) -> ExpertCosts:
    experts = import_object("metaworld.policies:ENV_POLICY_MAP")
    import_object("yardarm.simulators.metaworld:MetaworldSimulator")  # imported once, by the engine's launcher too
    costs, clock = ExpertCosts(), time.process_time
    barrier.wait()
    for task in tasks:
        started = clock()
        simulator = _build(task)
        costs.build_s += clock() - started
        for index, seed in enumerate(seeds):
            _play_expert(simulator, experts[task.name](), EpisodeSpec(task, index, seed), costs)
        simulator.close()
    return costs


def _play_expert(simulator, expert, episode: EpisodeSpec, costs: ExpertCosts) -> None:
    clock = time.process_time
    started = clock()
    simulator.reset(episode)
    costs.reset_s += clock() - started
    for _ in range(episode.task.max_steps):
        begun = clock()
        (raw,) = simulator.observe(("observation.environment_state",)).values()
        action = np.clip(expert.get_action(raw), -1, 1).astype(np.float32)
        decided = clock()
        step = simulator.step(action)
        costs.expert_s += decided - begun
        costs.step_s += clock() - decided
        costs.steps += 1
        if step.terminated:
            break


def _build(task: TaskSpec):
    return import_object(task.env.simulator)(task)
