"""How fast a run would be with another number of workers: a small queueing model.

Workers go round between the cores, where they step and look, and the policy, which answers them. How many of them are
with the policy is a birth–death chain, whose steady state is a product of ratios, whatever its rates depend on: cores
that workers share with the policy, batches, lanes. The model assumes exponential times; where they vary less, a run is
a little faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Costs", "Thinking", "throughput"]


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a policy on the host costs: `fixed_s + each_s * n` seconds for n requests at once."""

    fixed_s: float
    each_s: float
    rows: int = 1
    """How many requests cost as much as one: those of a micro-batch."""
    cores: float = 1.0
    """How many cores are busy while it thinks; each lane, if there are several."""
    lanes: int = 1
    """How many requests are answered in parallel; 1: all that wait are answered together."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a worker's round costs: from one answer to the next request, or a whole episode if no policy is asked."""

    compute_s: float
    wait_s: float = 0.0
    """Seconds in which it needs no core: it waits for a GPU, or for a clock."""
    thinking: Thinking | None = None


def throughput(costs: Costs, cores: float, workers: int) -> float:
    """Rounds a second with this number of workers."""
    round_s = costs.compute_s + costs.wait_s
    share = costs.compute_s / round_s
    thinking = costs.thinking
    if thinking is None:
        return workers / round_s / max(1.0, workers * share / cores)
    asking = np.arange(workers + 1)
    stepping = workers - asking
    # A request that arrives while others are being answered is as likely to be among them as to have just missed them.
    served = np.minimum(asking, thinking.lanes) if thinking.lanes > 1 else np.where(asking, (asking + 1) / 2, 0)
    minds = served if thinking.lanes > 1 else np.minimum(asking, 1)
    crowding = np.maximum(1.0, (stepping * share + minds * thinking.cores) / cores)
    asked = stepping / round_s / crowding
    thought_s = thinking.fixed_s + thinking.each_s * np.maximum(1.0, served / thinking.rows)
    answered = served / thought_s / (1 + (crowding - 1) * min(1.0, thinking.cores))
    logs = np.concatenate([[0.0], np.cumsum(np.log(asked[:-1]) - np.log(answered[1:]))])
    chances = np.exp(logs - logs.max())
    return float(chances @ answered / chances.sum())
