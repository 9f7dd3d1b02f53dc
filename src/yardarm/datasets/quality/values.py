"""Checks of values: missing ones, ones far from all others, and signals that never change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from yardarm.datasets.quality.findings import NOTE, PROBLEM, WARNING, Finding
from yardarm.datasets.quality.signals import Signals

__all__ = ["find_constant", "find_not_numbers", "find_outliers"]

# A value is an outlier if it is this many usual ranges beyond that range. The tails of a normal distribution end
# within one.
BEYOND = 3.0
# Where more episodes go is another way of doing the task, not an outlier.
MOST_SHARE = 0.05
LISTED = 8


def find_not_numbers(signals: Signals) -> Iterator[Finding]:
    """Values that are NaN or infinite."""
    bad = ~np.isfinite(signals.values)
    if not bad.any():
        return
    for place, episode in enumerate(signals.episodes):
        own = bad[signals.starts[place] : signals.starts[place + 1]]
        for column in np.nonzero(own.any(axis=0))[0]:
            frames = np.nonzero(own[:, column])[0]
            first, last = int(frames[0]), int(frames[-1])
            where = f"in {len(frames)} frames, the first is frame {first}" if len(frames) > 1 else f"at frame {first}"
            signal = signals.names[int(column)]
            message = f"{signal} is not a number (NaN or infinite) {where}"
            yield Finding("not_numbers", PROBLEM, message, episode.index, range(first, last + 1), signal.feature)


def find_outliers(signals: Signals) -> Iterator[Finding]:
    """Values far from where the signal usually is, in very few episodes."""
    if not len(signals.values) or not signals.names:
        return
    low, high = signals.usual
    spread = high - low
    with np.errstate(invalid="ignore"):
        beyond = np.maximum(signals.values - high, low - signals.values)
        beyond = np.where(np.isfinite(beyond), beyond, 0) - BEYOND * spread
    worst = np.maximum.reduceat(beyond, signals.starts[:-1])
    is_outlier = (worst > 0) & (spread > 0) & ~signals.is_switch
    most = max(1, MOST_SHARE * len(signals.episodes))
    is_outlier[:, is_outlier.sum(axis=0) > most] = False
    for place, column in zip(*np.nonzero(is_outlier), strict=True):
        own = slice(signals.starts[place], signals.starts[place + 1])
        frame = int(beyond[own, column].argmax())
        signal = signals.names[column]
        message = (
            f"{signal} reaches {signals.values[own, column][frame]:.4g} at frame {frame}; "
            f"it is usually between {low[column]:.4g} and {high[column]:.4g}"
        )
        index = signals.episodes[place].index
        yield Finding("outliers", WARNING, message, index, range(frame, frame + 1), signal.feature)


def find_constant(signals: Signals) -> Iterator[Finding]:
    """Signals that have one value in all frames."""
    if len(signals.values) < 2:
        return
    constant = (signals.values == signals.values[0]).all(axis=0)
    for feature in dict.fromkeys(signal.feature for signal in signals.names):
        own = [number for number, signal in enumerate(signals.names) if signal.feature == feature]
        still = [signals.names[number].name for number in own if constant[number]]
        if not still:
            continue
        if len(still) == len(own):
            message = f"{feature} never changes"
        else:
            listed = ", ".join(still[:LISTED]) + (", …" if len(still) > LISTED else "")
            message = f"{len(still)} of {len(own)} signals of {feature} never change: {listed}"
        # Nothing can be learned from, or about, an action that is always the same.
        whole = len(still) == len(own) and feature.startswith("action")
        yield Finding("constant", WARNING if whole else NOTE, message, feature=feature)
