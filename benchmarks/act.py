"""Measures ACT at LeRobot's default size on Meta-World: a whole evaluation compared with a plain loop, in one run.

python benchmarks/act.py --output=benchmarks/2026-11-act.md
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
from costs import CostNotes, Costs
from processes import in_fresh_process
from report import Figure, Section, document, table
from stand_ins import HORIZON, CostedConfig
from usage import CpuAccount

import yardarm
from yardarm.envs.rendering import backends
from yardarm.evaluation import EvaluationListener
from yardarm.machine import usable_cores
from yardarm.policies.act import ACT, ActConfig, ActPolicy
from yardarm.policies.learned.config import FeatureType, PolicyFeature
from yardarm.registry import import_object
from yardarm.results import BatchingRecord, RunFolder
from yardarm.tasks import EpisodeSpec

log = logging.getLogger("benchmark")

EPISODES, CHUNK, TASK, FIRST_SEED = 4, 100, "reach-v3", 1000
INFERENCES = EPISODES * HORIZON // CHUNK
TARGET_S, TARGET_SHARE = 2.4, 0.8
METHOD = """
The policy has LeRobot's default size (51.6 M parameters, chunks of 100 actions, one 480×480 camera) and random weights,
so no episode succeeds, and each has 500 steps, 5 looks and 5 inferences.

**The plain loop** is one process with one simulator, which looks once per chunk, asks the same policy, and plays the
chunk; torch and OpenGL use all cores, and its clock starts when both are warm. **The evaluation** is
`yardarm.evaluate` with default options; its clock starts just before the first worker is hired and ends with the
last episode in the journal. So it includes building simulators and opening OpenGL contexts, but not importing torch
and the simulator; in such a short run, that is why it is slower. Both are measured in turn, several times, since the
speed of a shared machine drifts; the table has medians. Actions are compared: bit by bit between repetitions, and
with the plain loop's to 1e-3 in the first chunk, after which the simulator amplifies the last bits.

Costs are CPU time: for steps and looks measured by the simulators in the workers (the first look of each, which
compiles shaders, counts as an ordinary one), for inference by the main process around each call, including its
threads. **The share** is what steps, looks and inferences used of (wall time × cores). What arithmetic allows is that
CPU time divided by the cores.
"""


class NotingPolicy(ActPolicy):
    """ACT that measures its own CPU time."""

    inference_cpu_s = 0.0

    def predict(self, observations: dict[str, np.ndarray]) -> np.ndarray:
        started = time.process_time()
        try:
            return super().predict(observations)
        finally:
            self.inference_cpu_s += time.process_time() - started


def make_default_act() -> NotingPolicy:
    features = {
        "observation.image": PolicyFeature(FeatureType.VISUAL, (3, 480, 480)),
        "observation.state": PolicyFeature(FeatureType.STATE, (4,)),
    }
    config = ActConfig(input_features=features, output_features={"action": PolicyFeature(FeatureType.ACTION, (4,))})
    torch.manual_seed(0)
    unit = {"mean": torch.zeros(4), "std": torch.ones(4)}
    image = {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
    known = {"observation.image": image, "observation.state": unit, "action": unit}
    return NotingPolicy(ACT, config, ACT.network(config), ACT.processing(config, known))


def play_plainly() -> tuple[float, np.ndarray]:
    """Play one episode after another; return the seconds per episode, and the first chunk of the first."""
    os.environ["MUJOCO_GL"] = backends()[0]
    policy, env = make_default_act(), CostedConfig(task=TASK)
    task = env.tasks()[0]
    simulator = import_object(task.env.simulator)(task)
    simulator.reset(EpisodeSpec(task, 0, FIRST_SEED))
    policy.predict({name: value[None] for name, value in simulator.observe(policy.wants.inputs).items()})
    started, first = time.perf_counter(), None
    for index in range(EPISODES):
        simulator.reset(EpisodeSpec(task, index, FIRST_SEED + index))
        for _ in range(HORIZON // CHUNK):
            seen = simulator.observe(policy.wants.inputs)
            chunk = policy.predict({name: value[None] for name, value in seen.items()})[0]
            first = chunk if first is None else first
            for action in chunk:
                simulator.step(action)
    return (time.perf_counter() - started) / EPISODES, first


class Clock(EvaluationListener):
    """Runs while episodes are played."""

    def started(self, *_: object) -> None:
        self.began = time.perf_counter()

    def finished(self, *_: object) -> None:
        self.wall_s = time.perf_counter() - self.began


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of four episodes."""

    wall_s: float
    whole_s: float
    costs: Costs
    inference_cpu_s: float
    inference: BatchingRecord | None
    workers: int
    others_s: float
    actions: list[np.ndarray]

    @property
    def episode_s(self) -> float:
        return self.wall_s / EPISODES

    @property
    def parts(self) -> tuple[float, float, float]:
        """CPU-seconds of an episode's steps, looks and inferences."""
        looks_s = self.costs.look_s * INFERENCES
        return self.costs.steps_s / EPISODES, looks_s / EPISODES, self.inference_cpu_s / EPISODES

    @property
    def share(self) -> float:
        return sum(self.parts) / (self.episode_s * usable_cores())


def evaluate_once() -> Evaluation:
    policy, clock = make_default_act(), Clock()
    with tempfile.TemporaryDirectory() as folder, CostNotes.taken() as notes, CpuAccount() as cpu:
        started = time.perf_counter()
        env = CostedConfig(task=TASK)
        result = yardarm.evaluate(policy, env, n_episodes=EPISODES, output_dir=folder, listener=clock)
        whole_s = time.perf_counter() - started
        files = RunFolder(result.path)
        session = files.read_manifest().newest
        costs = notes.total()
        actions = [
            files.load_played(record.key).actions for record in sorted(result.episodes, key=lambda r: r.key.index)
        ]
    assert result.counts.episodes == EPISODES
    workers = session.batch_size
    return Evaluation(
        clock.wall_s, whole_s, costs, policy.inference_cpu_s, session.batching, workers, cpu.others_s, actions
    )


def inference_alone() -> dict[str, float]:
    """Seconds of one forward pass with the memory layout that policies get here, and with torch's default."""
    network, cores, seconds = make_default_act().network, usable_cores(), {}
    torch.set_num_threads(cores)
    for name, layout in (("channels last", torch.channels_last), ("torch's own", torch.contiguous_format)):
        network.to(memory_format=layout)
        image = torch.rand(1, 3, 480, 480).to(memory_format=layout)
        inputs = {"observation.image": image, "observation.state": torch.rand(1, 4)}
        times = []
        with torch.inference_mode():
            for _ in range(8):
                started = time.perf_counter()
                network(inputs)
                times.append(time.perf_counter() - started)
        seconds[name] = median(times[2:])
    return seconds


def measure(repetitions: int) -> Section:
    layouts, _ = in_fresh_process(inference_alone, every_s=10)
    loops, runs = [], []
    for number in range(repetitions):
        (loop_s, first), _ = in_fresh_process(play_plainly, every_s=10)
        run, _ = in_fresh_process(evaluate_once, every_s=10)
        log.info(
            "%d: plain loop %.2f s an episode, evaluation %.2f s, share %.2f", number, loop_s, run.episode_s, run.share
        )
        assert np.abs(run.actions[0][:CHUNK] - first).max() < 1e-3, "another policy"
        if runs:
            assert all(map(np.array_equal, run.actions, runs[0].actions)), "another result"
        loops.append(loop_s)
        runs.append(run)
    return section(loops, runs, layouts)


def section(loops: Sequence[float], runs: Sequence[Evaluation], layouts: dict[str, float]) -> Section:
    episode_s, loop_s = median(run.episode_s for run in runs), median(loops)
    share = median(run.share for run in runs)
    step_s, look_s, infer_s = (median(part) for part in zip(*(run.parts for run in runs), strict=True))
    idle_s = median(run.episode_s * usable_cores() - sum(run.parts) for run in runs)
    allowed_s = (step_s + look_s + infer_s) / usable_cores()
    return Section(
        "ACT on reach-v3, four episodes",
        [
            Figure(
                "seconds an episode",
                f"{episode_s:.2f} ({_spread([run.episode_s for run in runs])})",
                f"plain loop: {loop_s:.2f} ({_spread(loops)})",
                f"at most {TARGET_S}",
                episode_s <= TARGET_S,
                f"{allowed_s:.2f}",
            ),
            Figure(
                "share of both cores in steps, looks and inferences",
                f"{share:.2f} ({_spread([run.share for run in runs])})",
                "",
                f"at least {TARGET_SHARE}",
                share >= TARGET_SHARE,
            ),
        ],
        [
            f"CPU-seconds of an episode: steps {step_s:.2f}, looks {look_s:.2f}, inferences {infer_s:.2f}, "
            f"everything else and idle {idle_s:.2f}.",
            f"{runs[0].workers} workers; inference: {runs[0].inference}.",
            f"The whole call, with importing, choosing the batching and writing results, took "
            f"{median(run.whole_s for run in runs):.1f} s for four episodes.",
            "One forward pass alone, all cores, by the layout of images and filters in memory: "
            + ", ".join(f"{name} {1e3 * seconds:.0f} ms" for name, seconds in layouts.items())
            + ".",
            f"Other programs used {median(run.others_s for run in runs):.1f} CPU-seconds during an evaluation.",
        ],
    )


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.2f}–{max(values):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, help="also write a result file")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    started = time.perf_counter()
    sections = [measure(arguments.repetitions)]
    print(table(sections))
    if arguments.output:
        wall_s = time.perf_counter() - started
        arguments.output.write_text(document("ACT at LeRobot's default size", METHOD, sections, wall_s))


if __name__ == "__main__":
    main()
