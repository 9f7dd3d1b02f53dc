"""Chooses the shape of micro-batches and torch's threads for a policy on this machine.

Whatever changes an answer is decided by something that does not vary: the number of cores, the network's arithmetic,
and a comparison of bits. Time, which is noisy, only decides between sizes that give the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from yardarm.policies.batching import BatchedPolicy, Batching, Observations

__all__ = ["MOST_ROWS", "choose_batching", "made_up"]

# From here on a CPU is busy with one row: more rows would take as many times longer, and padding would be waste.
BUSY_FLOPS = 0.1e9
SIZES = (2, 4, 8, 16, 32)
MOST_ROWS = SIZES[-1]
# A larger micro-batch must be nearly free, since it is seldom full.
NEARLY_FREE = 1.5
REPEATS = 3


def choose_batching(policy: BatchedPolicy, example: Observations, device: torch.device, cores: int) -> Batching:
    """Measure with an example of as many rows as the largest size; half the cores are left to the simulators."""
    threads = max(1, cores // 2)
    before = policy.batching
    try:
        policy.batching = Batching(1, threads)
        with _Arithmetic() as arithmetic:
            policy.predict(_rows(example, 1))
        if device.type == "cpu" and arithmetic.flops > BUSY_FLOPS:
            return Batching(1, threads)
        return Batching(_largest_nearly_free(policy, example), threads)
    finally:
        policy.batching = before


def _largest_nearly_free(policy: BatchedPolicy, example: Observations) -> int:
    """The largest size whose rows are those of the smallest, bit for bit, and which takes little longer."""
    chosen = SIZES[0]
    expected = np.concatenate([policy.predict(_rows(example, 2, start)) for start in range(0, SIZES[-1], 2)])
    limit = _seconds(policy, _rows(example, chosen)) * NEARLY_FREE
    for size in SIZES[1:]:
        answers = policy.predict(_rows(example, size))
        if not np.array_equal(answers, expected[:size]) or _seconds(policy, _rows(example, size)) > limit:
            break
        chosen = size
    return chosen


def _seconds(policy: BatchedPolicy, observations: Observations) -> float:
    def once() -> float:
        started = time.perf_counter()
        policy.predict(observations)
        return time.perf_counter() - started

    return min(once() for _ in range(REPEATS))


class _Arithmetic(TorchDispatchMode):
    """Counts multiplications and additions. (Torch's own counter hooks modules, which fails in inference mode.)"""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        count = flop_registry.get(function._overloadpacket)
        if count is None:
            with self:  # an operation may consist of others that count
                result = function.decompose(*args, **kwargs)
            return function(*args, **kwargs) if result is NotImplemented else result
        result = function(*args, **kwargs)
        self.flops += count(*args, **kwargs, out_val=result)
        return result


def _rows(example: Observations, count: int, start: int = 0) -> Observations:
    return {name: value[start : start + count] for name, value in example.items()}


def made_up(shapes: Mapping[str, tuple[int, ...]], images: Container[str], rows: int) -> Observations:
    """Random observations, the same every time."""
    generator = np.random.default_rng(0)
    return {
        name: generator.integers(256, size=(rows, *shape), dtype=np.uint8)
        if name in images
        else generator.standard_normal((rows, *shape), dtype=np.float32)
        for name, shape in shapes.items()
    }
