"""Chooses the shape of micro-batches and torch's threads for a policy on this machine.

Whatever changes an answer is decided by something that does not vary: the number of cores, the network's arithmetic,
and a comparison of bits. Time, which is noisy, only decides between sizes that give the same bits.

A fixed shape alone is not enough: kernels treat the rows at the end of a matrix differently from those before, so a
row's answer may depend on its place. Sizes where it does are never used; one row has only one place.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.module import register_module_forward_hook

from yardarm.policies.batching import BatchedPolicy, Batching, Observations
from yardarm.policies.protocol import TASK
from yardarm.tasks import ActionSpec, EnvSpec, TaskSpec

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["Example", "choose_batching", "example_observations", "made_up"]

Example = Callable[[int], Observations]
"""Makes observations of this many rows."""

# Instructions like any others, of different lengths.
INSTRUCTIONS = ("pick up the red cube and put it into the box", "push", "open the drawer")

SIZES = (8, 16, 32)
# More arithmetic than this in the smallest batch keeps a CPU busy: rows that are only padding would cost real time.
BUSY_FLOPS = 0.1e9
# Less than this, some 10 ms, is not worth sharing between threads, which wait for each other at every layer.
SHARED_FLOPS = 1e9
# A larger batch must be nearly free, since it is seldom full.
NEARLY_FREE = 1.5
REPEATS = 3


def choose_batching(policy: BatchedPolicy, example: Example, device: torch.device, cores: int) -> Batching:
    """Try the policy on made-up observations."""
    before = policy.batching
    try:
        policy.batching = Batching(1, threads=1)
        with _counted_flops() as counts:
            policy.predict(example(1))
        flops = sum(counts)
        if device.type == "cpu" and flops * SIZES[0] > BUSY_FLOPS:
            return _one_row(flops, cores)
        return _largest_nearly_free(policy, example(SIZES[-1]))
    finally:
        policy.batching = before


def _one_row(flops: int, cores: int) -> Batching:
    """For a network that keeps a CPU busy."""
    # Simulators need the cores too, but with one thread a core would be idle while they wait for an answer.
    threads = min(cores, max(2, cores // 2)) if flops > SHARED_FLOPS else 1
    pays = "is" if flops > SHARED_FLOPS else "is not"
    arithmetic = f"{flops / 1e9:.2g} GFLOP a row keep a CPU busy, so that none may be padding"
    return Batching(1, threads, f"{arithmetic}; that {pays} enough to be shared between threads, of {cores} core(s)")


def _largest_nearly_free(policy: BatchedPolicy, example: Observations) -> Batching:
    """The largest size that takes little longer than the smallest, and gives the same bits; one row if none is safe."""
    smallest, *larger = SIZES
    expected = policy.predict(_rows(example, smallest))
    if not _places_do_not_matter(policy, _rows(example, smallest), expected):
        return Batching(1, 1, f"among {smallest} rows, the last bits of an answer depend on its place")
    times = {smallest: _seconds(policy, _rows(example, smallest))}
    chosen, why_no_more = smallest, "the most that is tried"
    for size in larger:
        times[size] = _seconds(policy, _rows(example, size))
        if times[size] > NEARLY_FREE * times[smallest]:
            why_no_more = "more would not be nearly free"
            break
        if not _places_do_not_matter(policy, _rows(example, size), expected):
            why_no_more = f"among {size}, the last bits of an answer depend on its place"
            break
        chosen = size
    tried = ", ".join(f"{size} rows take {1000 * seconds:.2g} ms" for size, seconds in times.items())
    return Batching(chosen, 1, f"{tried}; {why_no_more}")


def _places_do_not_matter(policy: BatchedPolicy, example: Observations, expected: np.ndarray) -> bool:
    """Let every row have every place once; the first rows must always be answered as expected."""
    size = len(next(iter(example.values())))
    for shift in range(size):
        answers = policy.predict({name: _rolled(value, shift) for name, value in example.items()})
        if not np.array_equal(np.roll(answers, -shift, axis=0)[: len(expected)], expected):
            return False
    return True


def _rolled(value: np.ndarray | Sequence[str], shift: int) -> np.ndarray | Sequence[str]:
    """The last rows come first."""
    if isinstance(value, np.ndarray):
        return np.roll(value, shift, axis=0)
    return [*value[len(value) - shift :], *value[: len(value) - shift]]


def _seconds(policy: BatchedPolicy, observations: Observations) -> float:
    def once() -> float:
        started = time.perf_counter()
        policy.predict(observations)
        return time.perf_counter() - started

    return min(once() for _ in range(REPEATS))


@contextlib.contextmanager
def _counted_flops() -> Iterator[list[int]]:
    """Count the arithmetic of convolutions and linear layers, which is nearly everything.

    Torch's own counter sees everything, but loads its compiler for it, which takes longer than the run's start.
    """
    counts: list[int] = []

    def count(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(module, nn.Linear | _ConvNd):
            counts.append(2 * output.numel() * module.weight[0].numel())

    hook = register_module_forward_hook(count)
    try:
        yield counts
    finally:
        hook.remove()


def _rows(example: Observations, count: int) -> Observations:
    return {name: value[:count] for name, value in example.items()}


def example_observations(policy: LearnedPolicy, rows: int) -> Observations:
    """Observations for a policy that reads features, the values of its `row_shapes`, and maybe an instruction."""
    observations = made_up(policy.row_shapes(), policy.cameras, rows)
    if not policy.wants.instruction:
        return observations
    texts = [INSTRUCTIONS[row % len(INSTRUCTIONS)] for row in range(rows)]
    return {**observations, TASK: texts, **_conditioning(policy, texts)}


def _conditioning(policy: LearnedPolicy, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """What rows have of their tasks, in the shape that they have it in an evaluation."""
    env = EnvSpec.elsewhere("", ActionSpec(policy.config.action_size, -1, 1))
    tasks = [TaskSpec("", "", 0, "", text, 0, 0, env) for text in texts]
    known = [policy.preprocessor.for_task(task) for task in tasks]
    return {name: np.stack([row[name] for row in known]) for name in known[0]}


def made_up(shapes: Mapping[str, tuple[int, ...]], images: Container[str], rows: int) -> dict[str, np.ndarray]:
    """Random observations, the same every time."""
    generator = np.random.default_rng(0)
    return {
        name: generator.integers(256, size=(rows, *shape), dtype=np.uint8)
        if name in images
        else generator.standard_normal((rows, *shape), dtype=np.float32)
        for name, shape in shapes.items()
    }
