"""Statistics of methods: several training seeds, rather than one checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its modules are imported on first use, because that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, score_interval

__all__ = ["MethodDifference", "SeedSpread", "method_difference", "seed_spread"]


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """The rates of a method's training seeds: their mean, its interval for new seeds, and their spread."""

    mean: float
    interval: Interval
    deviation: float
    by_chance: float
    """The standard deviation that episodes alone would cause if all seeds were equally good."""
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class MethodDifference:
    """The difference of two methods; its interval holds for new training seeds and new episodes."""

    difference: float
    interval: Interval
    p_value: float


def seed_spread(outcomes: np.ndarray, confidence: float = CONFIDENCE) -> SeedSpread:
    """The spread in a table of outcomes with a row per training seed (at least two) and a column per episode.

    Two or three seeds that differ a lot estimate their spread poorly: the interval then holds in only 9 of 10 cases.
    """
    _check(outcomes)
    if len(outcomes) < 2:
        raise ValueError(f"the spread needs at least two training seeds, got {len(outcomes)}")
    rates, parts = outcomes.mean(axis=1), _Parts.of(outcomes)
    mean = float(rates.mean())
    smoothed = (outcomes.sum() + 0.5) / (outcomes.size + 1)
    worth = float(np.clip(smoothed * (1 - smoothed) / parts.total, parts.seeds, outcomes.size))
    interval = score_interval(mean, worth, _deviations(confidence, parts.degrees), confidence)
    return SeedSpread(
        mean=mean,
        interval=interval,
        deviation=float(rates.std(ddof=1)),
        by_chance=math.sqrt(parts.residual * parts.seeds),
        lowest=float(rates.min()),
        highest=float(rates.max()),
    )


def method_difference(
    a: np.ndarray, b: np.ndarray, paired: bool = True, confidence: float = CONFIDENCE
) -> MethodDifference:
    """Compare two tables of outcomes; if `paired`, their columns are the same episodes."""
    _check(a)
    _check(b)
    if paired and a.shape[1] != b.shape[1]:
        raise ValueError(f"paired tables must have the same episodes, got {a.shape[1]} and {b.shape[1]}")
    difference = float(a.mean() - b.mean())
    parts = [_Parts.of(a), _Parts.of(b)]
    by_episodes = (
        _variance_of_mean([*(a.mean(axis=0) - b.mean(axis=0)), 1.0, -1.0])
        if paired
        else sum(part.by_episodes for part in parts)
    )
    by_seeds = sum(part.by_seeds for part in parts)
    variance = max(by_episodes, by_seeds, by_episodes + by_seeds - sum(part.residual for part in parts))
    uncertain = by_episodes**2 / min(part.episodes for part in parts)
    uncertain += sum(part.by_seeds**2 / (part.seeds - 1) for part in parts if part.seeds > 1)
    degrees = variance**2 / uncertain
    half = _deviations(confidence, degrees) * math.sqrt(variance)
    p_value = 2 * float(scipy.stats.t.sf(abs(difference) / math.sqrt(variance), degrees))
    interval = Interval(max(-1.0, difference - half), min(1.0, difference + half), confidence)
    return MethodDifference(difference, interval, p_value)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The variance of a method's mean: from the draw of seeds, from the draw of episodes, and the part in both.

    Episodes that all had the same outcome may still vary: one of each kind is added, as Bonett and Price do for pairs.
    """

    seeds: int
    episodes: int
    by_seeds: float
    by_episodes: float
    residual: float

    @classmethod
    def of(cls, outcomes: np.ndarray) -> _Parts:
        seeds, episodes = outcomes.shape
        own = outcomes - outcomes.mean(axis=1, keepdims=True) - outcomes.mean(axis=0, keepdims=True) + outcomes.mean()
        freedom = (seeds - 1) * (episodes - 1)
        residual = float(np.sum(own**2)) / freedom / (seeds * episodes) if freedom else 0.0
        return cls(
            seeds,
            episodes,
            _variance_of_mean(outcomes.mean(axis=1)),
            _variance_of_mean([*outcomes.mean(axis=0), 0.0, 1.0]),
            residual,
        )

    @property
    def total(self) -> float:
        return max(self.by_seeds, self.by_episodes, self.by_seeds + self.by_episodes - self.residual)

    @property
    def degrees(self) -> float:
        return self.total**2 / (self.by_seeds**2 / (self.seeds - 1) + self.by_episodes**2 / self.episodes)


def _check(outcomes: np.ndarray) -> None:
    if outcomes.ndim != 2 or not outcomes.size:
        raise ValueError(f"outcomes must be a table of training seeds and episodes, got shape {outcomes.shape}")


def _variance_of_mean(values: Sequence[float] | np.ndarray) -> float:
    return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0


def _deviations(confidence: float, degrees: float) -> float:
    return float(scipy.stats.t.ppf(0.5 + confidence / 2, degrees))
